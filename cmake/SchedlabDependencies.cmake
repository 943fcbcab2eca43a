# SPDX-License-Identifier: Apache-2.0
# Every third-party package, found once. scripts/packages.txt names the Debian packages.

find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson 3 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(TBB 2021 REQUIRED)
find_package(Threads REQUIRED)
if(SCHEDLAB_BUILD_TESTS)
  find_package(doctest 2.4.9 REQUIRED)
endif()

set_property(GLOBAL PROPERTY schedlab_optional_lines "")

# schedlab_optional(<variable> <found> <what is lost without it> <version>): sets <variable> and notes a summary line.
function(schedlab_optional variable found without version)
  if(NOT SCHEDLAB_OPTIONAL)
    set(found FALSE)
    set(reason "SCHEDLAB_OPTIONAL is off")
  else()
    set(reason "not found")
  endif()
  if(found)
    set(${variable} TRUE PARENT_SCOPE)
    set(line "${variable} on (${version})")
  else()
    set(${variable} FALSE PARENT_SCOPE)
    set(line "${variable} off, ${reason}: ${without}")
  endif()
  set_property(GLOBAL APPEND PROPERTY schedlab_optional_lines "${line}")
endfunction()

if(SCHEDLAB_OPTIONAL)
  find_package(CUDAToolkit 12.3 QUIET) # capture into a graph that exists came with 12.3
  find_package(oneDNN 2.6 QUIET)
  # oneDNN runs on OpenMP threads, whose number each thread of ours sets.
  find_package(OpenMP 4.5 QUIET COMPONENTS CXX)
  find_package(MPI 3 QUIET COMPONENTS CXX)
  find_package(SimGrid 3.32 QUIET)
  find_package(benchmark 1.7 QUIET)
  include(SchedlabPython)
endif()

# The sanitizers do not know device code: their builds take the way of a machine without the toolkit.
set(CUDA_usable FALSE)
if(CUDAToolkit_FOUND AND NOT SCHEDLAB_SANITIZE)
  include(SchedlabCuda)
  if(CMAKE_CUDA_COMPILER)
    set(CUDA_usable TRUE)
  endif()
endif()
schedlab_optional(SCHEDLAB_WITH_CUDA "${CUDA_usable}" "no execution on NVIDIA devices"
                  "${CUDAToolkit_VERSION}")
if(CUDA_usable)
  find_package(cuDNN 9 QUIET)
endif()
schedlab_optional(SCHEDLAB_WITH_CUDNN "${cuDNN_FOUND}" "no comparison with cuDNN's recurrent networks" "${cuDNN_VERSION}")
set(oneDNN_usable FALSE)
if(oneDNN_FOUND AND OpenMP_CXX_FOUND)
  set(oneDNN_usable TRUE)
endif()
schedlab_optional(SCHEDLAB_WITH_ONEDNN "${oneDNN_usable}" "no oneDNN kernels on the CPU" "${oneDNN_VERSION}")
schedlab_optional(SCHEDLAB_WITH_MPI "${MPI_CXX_FOUND}" "no runs across machines" "${MPI_CXX_VERSION}")
schedlab_optional(SCHEDLAB_WITH_SIMGRID "${SimGrid_FOUND}" "no comparison with SimGrid in tests and benches"
                  "${SimGrid_VERSION}")
schedlab_optional(SCHEDLAB_WITH_BENCHMARK "${benchmark_FOUND}" "no benchmarks" "${benchmark_VERSION}")

schedlab_optional(SCHEDLAB_WITH_PYTHON "${SCHEDLAB_PYTHON_usable}" "no Python package" "${SCHEDLAB_PYTHON_found}")

function(schedlab_print_summary)
  message(STATUS "SchedLab ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
                 "${SCHEDLAB_SANITIZE}")
  get_property(lines GLOBAL PROPERTY schedlab_optional_lines)
  foreach(line IN LISTS lines)
    message(STATUS "  ${line}")
  endforeach()
endfunction()
