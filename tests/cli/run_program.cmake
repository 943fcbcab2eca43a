# SPDX-License-Identifier: Apache-2.0
# Runs a program and checks exit code and output.
#   cmake -DPROGRAM=<file> -DARGUMENTS=<a|b|c> -DEXPECT=<code> -DMATCH=<regex|regex> -P run_program.cmake
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
string(REPLACE "|" ";" match "${MATCH}")
execute_process(
  COMMAND "${PROGRAM}" ${arguments}
  RESULT_VARIABLE code
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(NOT code STREQUAL EXPECT)
  message(FATAL_ERROR "exit code ${code}, expected ${EXPECT}:\n${output}")
endif()
foreach(regex IN LISTS match)
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "the output does not match \"${regex}\":\n${output}")
  endif()
endforeach()
