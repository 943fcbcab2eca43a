# SPDX-License-Identifier: Apache-2.0
# The program's search over ranks of MPI finds the same plan every time, and says what is wrong with a spec once.
#   cmake -DPROGRAM=<file> -DMPIRUN=<command|arguments...> -DSPEC=<file> -DFOLDER=<folder> -P search_on_ranks.cmake
string(REPLACE "|" ";" MPIRUN "${MPIRUN}")
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

foreach(out IN ITEMS one two)
  execute_process(COMMAND ${MPIRUN} -n 2 "${PROGRAM}" search "${SPEC}" --seconds 0 --evaluations 400 --out "${FOLDER}/${out}"
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code STREQUAL 0)
    message(FATAL_ERROR "search ${out}: exit code ${code}:\n${output}")
  endif()
  string(REGEX MATCHALL "makespan " said "${output}")
  list(LENGTH said times)
  if(NOT times EQUAL 1)
    message(FATAL_ERROR "the result was said ${times} times:\n${output}")
  endif()
endforeach()
foreach(file IN ITEMS plan.json search.json improvements.csv)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${FOLDER}/one/${file}" "${FOLDER}/two/${file}"
                  RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "${file} differs from run to run")
  endif()
endforeach()

execute_process(COMMAND ${MPIRUN} -n 2 "${PROGRAM}" search no_such.json --out "${FOLDER}/none" RESULT_VARIABLE code
                OUTPUT_QUIET ERROR_VARIABLE output)
string(REGEX MATCHALL "error: no_such.json" said "${output}")
list(LENGTH said times)
if(NOT times EQUAL 1 OR code EQUAL 0)
  message(FATAL_ERROR "exit code ${code}, said ${times} times:\n${output}")
endif()
