# The judge's part for CUDA devices: nvcc and the runtime come from the Python environment
# (`make setup-gpu`), the driver is looked for when the judge runs.
get_filename_component(site ${SWAGE_TORCH_DIR} DIRECTORY)
set(SWAGE_CUDA_TOOLKIT ${site}/nvidia/cu13 CACHE PATH "folder with bin/nvcc, include and lib")
find_program(SWAGE_NVCC nvcc PATHS ${SWAGE_CUDA_TOOLKIT}/bin NO_DEFAULT_PATH)
find_library(SWAGE_CUDART libcudart_static.a PATHS ${SWAGE_CUDA_TOOLKIT}/lib ${SWAGE_CUDA_TOOLKIT}/lib64
             NO_DEFAULT_PATH)
if(NOT SWAGE_NVCC OR NOT SWAGE_CUDART)
  message(FATAL_ERROR "SWAGE_CUDA needs nvcc and libcudart_static.a: run `make setup-gpu`")
endif()
# g++ is nvcc's host compiler; nothing but launches is in these files.
set(kernels ${CMAKE_CURRENT_BINARY_DIR}/cuda_kernels.o)
add_custom_command(
  OUTPUT ${kernels}
  COMMAND ${SWAGE_NVCC} -std=c++20 --expt-relaxed-constexpr -O3 -ccbin g++ -gencode arch=compute_90a,code=sm_90a -I
          ${CMAKE_SOURCE_DIR} -cudart static -c ${CMAKE_CURRENT_SOURCE_DIR}/adapters/cuda_kernels.cu -o
          ${kernels} -MD -MF ${kernels}.d
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/adapters/cuda_kernels.cu
  DEPFILE ${kernels}.d
  VERBATIM)
set(cuda_device adapters/cuda_device.cpp adapters/cuda_memory.cpp adapters/nvml.cpp adapters/pinned_pool.cpp
                ${kernels})
set_source_files_properties(${kernels} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(swage_cuda_runtime INTERFACE)
target_include_directories(swage_cuda_runtime SYSTEM INTERFACE ${SWAGE_CUDA_TOOLKIT}/include)
target_link_libraries(swage_cuda_runtime INTERFACE ${SWAGE_CUDART} ${CMAKE_DL_LIBS} rt Threads::Threads)
set(cuda_runtime swage_cuda_runtime)
