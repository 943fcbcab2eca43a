# SPDX-License-Identifier: Apache-2.0
# The program's sweep over ranks of MPI gives the results.csv of one process, also after it was killed and resumed.
#   cmake -DPROGRAM=<file> -DMPIRUN=<command|arguments...> -DSPEC=<file> -DFOLDER=<folder> -P sweep_on_ranks.cmake
string(REPLACE "|" ";" MPIRUN "${MPIRUN}")
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

function(run_sweep out)
  execute_process(COMMAND ${ARGN} "${PROGRAM}" sweep "${SPEC}" --timelines none ${flags} --out "${FOLDER}/${out}"
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code STREQUAL 0)
    message(FATAL_ERROR "sweep ${out}: exit code ${code}:\n${output}")
  endif()
endfunction()

function(expect_same out)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${FOLDER}/${out}/results.csv" "${FOLDER}/alone/results.csv"
                  RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "${out}/results.csv differs from that of one process")
  endif()
endfunction()

run_sweep(alone)
run_sweep(ranks ${MPIRUN} -n 3)
expect_same(ranks)

# TIMEOUT kills mpirun, and the ranks with it; if the run is too quick for that the rest still has to hold.
execute_process(COMMAND ${MPIRUN} -n 3 "${PROGRAM}" sweep "${SPEC}" --timelines none --out "${FOLDER}/killed"
                TIMEOUT 0.6 RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
message(STATUS "first run: ${code}")
# Ranks whose mpirun was killed end by themselves, a moment later.
execute_process(COMMAND "${CMAKE_COMMAND}" -E sleep 1)
set(flags --resume)
run_sweep(killed ${MPIRUN} -n 2)
expect_same(killed)

# What is wrong with a spec is said once, by rank 0.
execute_process(COMMAND ${MPIRUN} -n 2 "${PROGRAM}" sweep no_such.json --out "${FOLDER}/none" RESULT_VARIABLE code
                OUTPUT_QUIET ERROR_VARIABLE output)
string(REGEX MATCHALL "error: no_such.json" said "${output}")
list(LENGTH said times)
if(NOT times EQUAL 1 OR code EQUAL 0)
  message(FATAL_ERROR "exit code ${code}, said ${times} times:\n${output}")
endif()
