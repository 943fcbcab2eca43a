# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMPILER=... -DROOT=... -DSOURCE=... -P must_be_rejected.cmake
cmake_minimum_required(VERSION 3.25)

set(compile "${COMPILER}" -std=c++20 -fsyntax-only "-I${ROOT}")

execute_process(COMMAND ${compile} "${SOURCE}" RESULT_VARIABLE status ERROR_VARIABLE message)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the control, ${SOURCE} without SCHEDLAB_MISTAKE, must compile but does not:\n${message}")
endif()

execute_process(COMMAND ${compile} -DSCHEDLAB_MISTAKE "${SOURCE}" RESULT_VARIABLE status ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} with SCHEDLAB_MISTAKE must be rejected by the compiler but compiles")
endif()
