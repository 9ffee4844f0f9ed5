# swage_pch(<name> <header> [LINK ...] [OPTIONS ...]): a precompiled header that targets share. All of them
# are compiled with the same options, so -fPIC in programs too.
function(swage_pch name header)
  cmake_parse_arguments(ARG "" "" "LINK;OPTIONS" ${ARGN})
  add_library(swage_${name}_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
  target_link_libraries(swage_${name}_pch PUBLIC ${ARG_LINK} PRIVATE swage::options)
  target_include_directories(swage_${name}_pch PRIVATE ${CMAKE_SOURCE_DIR})
  target_precompile_headers(swage_${name}_pch PRIVATE ${header})
  # ccache can reuse a clang precompiled header only without its time stamp.
  target_compile_options(swage_${name}_pch PRIVATE ${ARG_OPTIONS} -Xclang -fno-pch-timestamp)
endfunction()

# swage_pch_sum(<name> <header>): lets ccache know a precompiled header by what it was made from
# (CCACHE_PCH_EXTSUM), and not by its bytes, which hold the path of this clone.
function(swage_pch_sum name header)
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -w -E -P -x c++ -I ${CMAKE_SOURCE_DIR} ${header}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${text}${CMAKE_CXX_COMPILER_VERSION}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/swage_${name}_pch.dir/cmake_pch.hxx.pch.sum
       "${sum}")
  # Its text may change with any package, and an old sum would let ccache answer with old objects.
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                                                             /var/lib/dpkg/status)
endfunction()

# swage_precompiled(<target> <name>): compiles a target with the shared header library, test or torch.
function(swage_precompiled target name)
  set(header ${CMAKE_SOURCE_DIR}/cmake/${name}_pch.hpp)
  if(NOT TARGET swage_${name}_pch)
    if(name STREQUAL "torch")
      swage_pch(torch <torch/torch.h> LINK torch::cpu)
    elseif(name STREQUAL "test")
      swage_pch(test ${header} LINK PkgConfig::GRPC GTest::gmock OPTIONS -O0)
      swage_pch_sum(test ${header})
    else()
      swage_pch(library ${header} LINK PkgConfig::GRPC)
      swage_pch_sum(library ${header})
    endif()
  endif()
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp -fPIC)
  target_precompile_headers(${target} REUSE_FROM swage_${name}_pch)
endfunction()

# swage_library(<name> [TORCH] [SOURCES ...] [PUBLIC ...] [PRIVATE ...])
# Makes swage_<name> and the alias swage::<name>; without sources it is an interface library. TORCH: the
# sources include torch.
function(swage_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(swage_${name} STATIC ${ARG_SOURCES})
    target_include_directories(swage_${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(swage_${name} PUBLIC ${ARG_PUBLIC} PRIVATE swage::options ${ARG_PRIVATE})
    # Coroutine code needs the same Asio definitions wherever a header of ours is read.
    target_link_libraries(swage_${name} PUBLIC swage::options)
    if(ARG_TORCH)
      target_link_libraries(swage_${name} PUBLIC torch::cpu)
      swage_precompiled(swage_${name} torch)
    else()
      swage_precompiled(swage_${name} library)
    endif()
  else()
    add_library(swage_${name} INTERFACE)
    target_include_directories(swage_${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(swage_${name} INTERFACE swage::options ${ARG_PUBLIC})
  endif()
  add_library(swage::${name} ALIAS swage_${name})
endfunction()

# swage_program(<name> SOURCES ... LINK ...): a binary called <name> under build/bin. Each is an install
# component of its own, with the libraries of torch (where it has any) beside bin, in lib/torch/lib.
function(swage_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE swage::options ${ARG_LINK})
  swage_precompiled(${name} library)
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT ${name})
endfunction()

# swage_whole_test(<name> <target>): all cases of a GoogleTest program in one process, where starting
# it costs more than a case does (it loads torch, or makes a zygote). Its cases are counted from
# build/<preset>/cases/<name>.xml.
function(swage_whole_test name target)
  add_test(NAME ${name} COMMAND ${target} --gtest_output=xml:${CMAKE_BINARY_DIR}/cases/${name}.xml)
endfunction()

# swage_test(<name> SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT seconds])
# A GoogleTest binary <name>_test; each case is one ctest test with these labels, those of label
# torch all together are one.
function(swage_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name}_test PRIVATE swage::options ${ARG_LINK} GTest::gmock_main)
  # Test code is compiled once and run once: the optimiser would cost more than it saves. Tests of
  # torch code share its precompiled header, and so its flags.
  if("torch" IN_LIST ARG_LABELS)
    target_link_libraries(${name}_test PRIVATE torch::cpu)
    swage_precompiled(${name}_test torch)
  else()
    target_compile_options(${name}_test PRIVATE -O0)
    swage_precompiled(${name}_test test)
  endif()
  # `ninja tests-<label>` builds the tests of one label; what needs real programs is only in
  # tests-integration.
  set(groups ${ARG_LABELS})
  if("integration" IN_LIST groups)
    set(groups integration)
  endif()
  foreach(label ${groups})
    if(NOT TARGET tests-${label})
      add_custom_target(tests-${label})
    endif()
    add_dependencies(tests-${label} ${name}_test)
  endforeach()
  set(environment "SWAGE_BIN_DIR=${CMAKE_BINARY_DIR}/bin;SWAGE_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  if("torch" IN_LIST ARG_LABELS)
    swage_whole_test(${name} ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300 ENVIRONMENT
                                            "${environment}")
    return()
  endif()
  gtest_discover_tests(
    ${name}_test
    TEST_PREFIX "${name}."
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  # gtest_discover_tests takes no lists as properties: those are set in a file that ctest reads after
  # the discovered tests.
  set(properties ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
  file(
    WRITE ${properties}
    "if(${name}_test_TESTS)
  set_tests_properties(\${${name}_test_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\"
    ENVIRONMENT \"${environment}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
endfunction()

# swage_proto(<name> <file.proto>...): C++ messages and gRPC services of files under proto/.
function(swage_proto name)
  set(out ${CMAKE_BINARY_DIR}/generated)
  set(sources)
  foreach(file ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${file})
    set(made ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc
             ${out}/${stem}.grpc.pb.h)
    add_custom_command(
      OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=${SWAGE_GRPC_PLUGIN} ${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/proto/${file}
      VERBATIM)
    list(APPEND sources ${out}/${stem}.pb.cc ${out}/${stem}.grpc.pb.cc)
  endforeach()
  add_library(swage_${name} STATIC ${sources})
  add_library(swage::${name} ALIAS swage_${name})
  # Generated code is a system include: our warnings are not for it.
  target_include_directories(swage_${name} SYSTEM PUBLIC ${out})
  target_link_libraries(swage_${name} PUBLIC PkgConfig::GRPC protobuf::libprotobuf
                                             Threads::Threads)
endfunction()

# swage_extension_module(<variable> <source>): a Python module of test kernels, built by g++ as the
# compile service would (tests/support/extension_module.hpp). The variable gets the library's path.
function(swage_extension_module variable source)
  get_filename_component(venv ${SWAGE_TORCH_DIR}/../../../.. ABSOLUTE)
  execute_process(
    COMMAND ${venv}/bin/python -c "import sysconfig; print(sysconfig.get_paths()['include'])"
    OUTPUT_VARIABLE python_include
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(name ${source} NAME_WE)
  set(library ${CMAKE_CURRENT_BINARY_DIR}/${name}.so)
  add_custom_command(
    OUTPUT ${library}
    COMMAND g++ -O3 -march=x86-64-v3 -fopenmp -fPIC -shared -I ${python_include} -I
            ${CMAKE_SOURCE_DIR} -o ${library} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} ${CMAKE_SOURCE_DIR}/tests/support/extension_module.hpp
    VERBATIM)
  set(${variable} ${library} PARENT_SCOPE)
endfunction()
