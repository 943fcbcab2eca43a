# SPDX-License-Identifier: Apache-2.0
# Turns the language CUDA on if the toolkit's compiler works here.

# CUDA 13 compiles for compute capability 7.5 and up; a toolkit 12.3 to 12.9 for older devices too: "60;70;80-real".
set(SCHEDLAB_CUDA_ARCHITECTURES
    "80-real;90-real;90-virtual"
    CACHE STRING "Devices that kernels are compiled for, as CMAKE_CUDA_ARCHITECTURES takes them")

if(NOT CMAKE_CUDA_COMPILER AND EXISTS "${CUDAToolkit_NVCC_EXECUTABLE}")
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "The CUDA compiler")
endif()
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}" CACHE FILEPATH "What nvcc compiles host code with")
endif()
set(CMAKE_CUDA_ARCHITECTURES "${SCHEDLAB_CUDA_ARCHITECTURES}")

include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(SCHEDLAB_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${SCHEDLAB_CCACHE}")
  endif()

  # The oldest compute capability that has code here, as 80 for 8.0: what the executor asks of a device.
  string(REGEX MATCHALL "[0-9]+" cuda_numbers "${SCHEDLAB_CUDA_ARCHITECTURES}")
  list(SORT cuda_numbers COMPARE NATURAL)
  list(GET cuda_numbers 0 SCHEDLAB_CUDA_OLDEST)
endif()
