# SPDX-License-Identifier: Apache-2.0
# Finds the headers of cuDNN, beside the CUDA toolkit (find_package(CUDAToolkit) goes before) or where CMAKE_PREFIX_PATH
# says: cuDNN_INCLUDE_DIR, cuDNN_VERSION. The library itself is loaded by name while a program runs.

find_path(cuDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(cuDNN_INCLUDE_DIR)

if(cuDNN_INCLUDE_DIR)
  set(numbers "")
  foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
    file(STRINGS "${cuDNN_INCLUDE_DIR}/cudnn_version.h" line REGEX "#define CUDNN_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND numbers "${number}")
  endforeach()
  list(JOIN numbers "." cuDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  cuDNN
  REQUIRED_VARS cuDNN_INCLUDE_DIR
  VERSION_VAR cuDNN_VERSION)
