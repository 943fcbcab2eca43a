# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=<checkout> -P shellcheck.cmake
cmake_minimum_required(VERSION 3.25)

find_program(SHELLCHECK shellcheck)
if(NOT SHELLCHECK)
  message("skipped: shellcheck is not installed")
  return()
endif()

file(GLOB scripts "${ROOT}/scripts/*.sh")
execute_process(COMMAND "${SHELLCHECK}" ${scripts} "${ROOT}/.ci/run" RESULT_VARIABLE status OUTPUT_VARIABLE message)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "shellcheck:\n${message}")
endif()
