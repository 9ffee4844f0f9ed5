# Compiler settings of every target of ours, carried by swage::options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/torch/lib")

add_library(swage_options INTERFACE)
add_library(swage::options ALIAS swage_options)
target_compile_options(swage_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
# Boost 1.74 does not recognise clang's coroutines by itself.
target_compile_definitions(swage_options INTERFACE BOOST_ASIO_HAS_CO_AWAIT=1
                                                   BOOST_ASIO_NO_DEPRECATED
                                                   BOOST_BIND_GLOBAL_PLACEHOLDERS)
option(SWAGE_WERROR "Warnings are errors" ON)
if(SWAGE_WERROR)
  target_compile_options(swage_options INTERFACE -Werror)
endif()

# CMake also names the header itself, by a path that ccache would take for a difference between clones.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)

# The only global flags are the sanitizer's.
if(SWAGE_SANITIZE STREQUAL "address+undefined")
  # vptr: cpprestsdk's objects are not instrumented, and their type information is its own copy.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SWAGE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT SWAGE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SWAGE_SANITIZE must be empty, address+undefined or thread")
endif()
option(SWAGE_FUZZ "Instrument for libFuzzer and define the targets of tests/fuzz" OFF)
if(SWAGE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
