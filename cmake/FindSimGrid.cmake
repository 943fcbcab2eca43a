# SPDX-License-Identifier: Apache-2.0
# Finds SimGrid, which Debian ships without a CMake package: target SimGrid::simgrid, SimGrid_VERSION.

find_path(SimGrid_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SimGrid_LIBRARY simgrid)
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)

if(SimGrid_INCLUDE_DIR AND EXISTS "${SimGrid_INCLUDE_DIR}/simgrid/version.h")
  foreach(part IN ITEMS MAJOR MINOR)
    file(STRINGS "${SimGrid_INCLUDE_DIR}/simgrid/version.h" line REGEX "#define SIMGRID_VERSION_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" SimGrid_VERSION_${part} "${line}")
  endforeach()
  set(SimGrid_VERSION "${SimGrid_VERSION_MAJOR}.${SimGrid_VERSION_MINOR}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SimGrid
  REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR
  VERSION_VAR SimGrid_VERSION)

if(SimGrid_FOUND AND NOT TARGET SimGrid::simgrid)
  add_library(SimGrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::simgrid PROPERTIES IMPORTED_LOCATION "${SimGrid_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${SimGrid_INCLUDE_DIR}")
endif()
