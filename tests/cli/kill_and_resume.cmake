# SPDX-License-Identifier: Apache-2.0
# A sweep is killed without warning, goes on with --resume, and gives the file that an undisturbed run gives.
#   cmake -DPROGRAM=<file> -DSPEC=<file> -DFOLDER=<folder> -P kill_and_resume.cmake
# When the first run is too quick to be killed the rest still has to hold.
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")

function(run_sweep out)
  execute_process(COMMAND "${PROGRAM}" sweep "${SPEC}" --out "${out}" --timelines none ${ARGN} RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code STREQUAL 0)
    message(FATAL_ERROR "sweep ${out} ${ARGN}: exit code ${code}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# TIMEOUT ends the process with SIGKILL.
execute_process(
  COMMAND "${PROGRAM}" sweep "${SPEC}" --out "${FOLDER}/killed" -j1
  TIMEOUT 0.4
  RESULT_VARIABLE code
  OUTPUT_QUIET ERROR_QUIET)
message(STATUS "first run: ${code}")
run_sweep("${FOLDER}/killed" --resume -j2)
message(STATUS "second run: ${output}")
run_sweep("${FOLDER}/whole" -j2)
execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${FOLDER}/killed/results.csv" "${FOLDER}/whole/results.csv"
                RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "results.csv differs from that of an undisturbed run")
endif()
