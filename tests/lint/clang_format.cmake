# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=<checkout> -P clang_format.cmake; other versions than 14 would format differently.
cmake_minimum_required(VERSION 3.25)

find_program(CLANG_FORMAT clang-format-14)
if(NOT CLANG_FORMAT)
  message("skipped: clang-format-14 is not installed")
  return()
endif()

set(patterns "")
foreach(folder IN ITEMS sim workloads policies hw_models profiler real_exec calibration notebooks_export studies cli python tests)
  list(APPEND patterns "${ROOT}/${folder}/*.hpp" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.cu")
endforeach()
file(GLOB_RECURSE files ${patterns})
execute_process(COMMAND "${CLANG_FORMAT}" --dry-run --Werror ${files} RESULT_VARIABLE status ERROR_VARIABLE message)
if(NOT status EQUAL 0)
  string(REGEX MATCHALL "[^\n]+: error: code should be clang-formatted" places "${message}")
  list(TRANSFORM places REPLACE ":[0-9]+:[0-9]+: error.*" "")
  list(REMOVE_DUPLICATES places)
  list(JOIN places " " places)
  message(NOTICE "clang-format-14 -i ${places}")
  message(FATAL_ERROR "some files are not formatted; the line above formats them")
endif()
