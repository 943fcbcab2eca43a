# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

function(must_exit_with code)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} RESULT_VARIABLE status OUTPUT_QUIET)
  if(NOT status EQUAL code)
    message(FATAL_ERROR "${PROGRAM} ${ARGN} ended with ${status}, not with ${code}")
  endif()
endfunction()

must_exit_with(77 "--test-case=asks to be skipped")
must_exit_with(0 "--test-case=has a result")
must_exit_with(0)
must_exit_with(0 "--test-case=no such case")
