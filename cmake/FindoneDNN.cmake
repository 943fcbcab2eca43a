# SPDX-License-Identifier: Apache-2.0
# Finds oneDNN: target oneDNN::dnnl, oneDNN_VERSION. Debian's own dnnl-config.cmake stops the configuration with an
# error when the OpenCL headers are not installed, which nothing here needs.

find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

if(oneDNN_INCLUDE_DIR AND EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  foreach(part IN ITEMS MAJOR MINOR)
    file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" line REGEX "#define DNNL_VERSION_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" oneDNN_VERSION_${part} "${line}")
  endforeach()
  set(oneDNN_VERSION "${oneDNN_VERSION_MAJOR}.${oneDNN_VERSION_MINOR}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  oneDNN
  REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
  VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::dnnl)
  add_library(oneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(oneDNN::dnnl PROPERTIES IMPORTED_LOCATION "${oneDNN_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
endif()
