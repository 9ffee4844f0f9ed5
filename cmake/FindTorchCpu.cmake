# LibTorch out of the PyPI wheel, linked by hand: on a machine without a CUDA toolkit the wheel's own
# TorchConfig.cmake stops at CUDA. Makes torch::cpu. Set SWAGE_TORCH_DIR to the wheel's torch folder;
# the default is the virtual environment that tools/setup makes.
if(NOT SWAGE_TORCH_DIR)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(_cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(_cache "$ENV{HOME}/.cache")
  endif()
  file(GLOB _found "${_cache}/swage/venv/lib/python3*/site-packages/torch")
  set(SWAGE_TORCH_DIR "${_found}" CACHE PATH "torch folder of the wheel")
endif()
find_library(TorchCpu_LIBRARY torch_cpu PATHS ${SWAGE_TORCH_DIR}/lib NO_DEFAULT_PATH)
find_library(TorchCpu_C10 c10 PATHS ${SWAGE_TORCH_DIR}/lib NO_DEFAULT_PATH)
find_path(TorchCpu_INCLUDE torch/script.h PATHS ${SWAGE_TORCH_DIR}/include NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TorchCpu REQUIRED_VARS TorchCpu_LIBRARY TorchCpu_C10 TorchCpu_INCLUDE
  REASON_FAILURE_MESSAGE "run `make setup`, or set SWAGE_TORCH_DIR, or configure -DSWAGE_TORCH=OFF")
if(TorchCpu_FOUND AND NOT TARGET torch::cpu)
  get_filename_component(_site ${SWAGE_TORCH_DIR} DIRECTORY)
  add_library(torch::cpu INTERFACE IMPORTED)
  target_include_directories(
    torch::cpu SYSTEM INTERFACE ${TorchCpu_INCLUDE}
                                ${TorchCpu_INCLUDE}/torch/csrc/api/include)
  target_link_libraries(torch::cpu INTERFACE ${TorchCpu_LIBRARY} ${TorchCpu_C10})
  target_link_options(
    torch::cpu INTERFACE -Wl,-rpath,${SWAGE_TORCH_DIR}/lib
    -Wl,-rpath,${_site}/nvidia/cu13/lib -Wl,-rpath-link,${SWAGE_TORCH_DIR}/lib
    -Wl,-rpath-link,${_site}/nvidia/cu13/lib -Wl,--allow-shlib-undefined)
endif()
