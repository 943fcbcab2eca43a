# SPDX-License-Identifier: Apache-2.0
# The campaign script on this computer's cores, in short: sections leave what they promise, a second run goes on where
# the first stopped, a section that fails is noted and does not end the others.
#   cmake -DPROGRAM=<file> -DSCRIPT=<file> -DFOLDER=<folder> -P campaign.cmake
file(REMOVE_RECURSE "${FOLDER}")

function(campaign expected)
  execute_process(COMMAND bash "${SCRIPT}" --device cpu --quick --program "${PROGRAM}" --out "${FOLDER}" ${ARGN}
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code STREQUAL expected)
    message(FATAL_ERROR "campaign ${ARGN}: exit code ${code}, expected ${expected}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

campaign(0 environment build predict validate summary)
foreach(
  file IN
  ITEMS environment.txt
        predictions.sha256
        predictions_validate_quick/predictions.csv
        validation/validation.json
        validation_recording/recording.json
        summary.md
        results.tar.gz)
  if(NOT EXISTS "${FOLDER}/${file}")
    message(FATAL_ERROR "${file} is missing")
  endif()
endforeach()

# A machine file that is none: the sections that read it fail, and say why in the summary.
file(WRITE "${FOLDER}/machine.json" "{")
campaign(1 predict validate summary)
file(READ "${FOLDER}/summary.md" summary)
if(NOT summary MATCHES "\\| predict \\| failed: [^\n]*\\|" OR NOT summary MATCHES "\\| environment \\| done")
  message(FATAL_ERROR "the summary does not say what failed:\n${summary}")
endif()
file(REMOVE "${FOLDER}/machine.json")

# Without sections: what is missing. The long ones count as done here.
foreach(section IN ITEMS numerics calibrate baseline backward traces)
  file(WRITE "${FOLDER}/.done/${section}" "0")
endforeach()
campaign(0)
if(NOT output MATCHES "environment: done before" OR output MATCHES "validate: done before")
  message(FATAL_ERROR "a second run did not go on where the first stopped:\n${output}")
endif()

execute_process(COMMAND bash "${SCRIPT}" --device tpu RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 2)
  message(FATAL_ERROR "an unknown device was not refused")
endif()
