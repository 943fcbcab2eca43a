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

campaign(0 environment build predict validate sequences)
foreach(
  file IN
  ITEMS environment.txt
        predictions.sha256
        predictions_validate_quick/predictions.csv
        predictions_host_crossover/predictions.csv
        validation/validation.json
        validation_recording/recording.json
        recompute/validation.json
        buckets/executed.json
        summary.md
        small.tar.gz
        large_validate.tar.gz.00)
  if(NOT EXISTS "${FOLDER}/${file}")
    message(FATAL_ERROR "${file} is missing")
  endif()
endforeach()

# A machine file that is none: the sections that read it fail, and say why in the summary.
file(WRITE "${FOLDER}/machine.json" "{")
campaign(1 predict validate)
file(READ "${FOLDER}/summary.md" summary)
if(NOT summary MATCHES "\\| predict \\| failed: [^\n]*\\|" OR NOT summary MATCHES "\\| environment \\| done")
  message(FATAL_ERROR "the summary does not say what failed:\n${summary}")
endif()
file(REMOVE "${FOLDER}/machine.json")

# Without sections: what is missing. The long ones count as done here.
foreach(section IN ITEMS numerics calibrate quoted baseline backward crossover traces)
  file(WRITE "${FOLDER}/.done/${section}" "0")
endforeach()
campaign(0)
if(NOT output MATCHES "build: done before" OR output MATCHES "validate: done before")
  message(FATAL_ERROR "a second run did not go on where the first stopped:\n${output}")
endif()

# On a CUDA device that is only named and with a program that only notes what it is asked for: without a calibrated
# machine there is nothing to predict the operator by operator launches of a GPU with; with one they are measured on it.
set(fake "${FOLDER}/fake")
file(WRITE "${fake}/nvidia-smi" "#!/bin/sh\necho 'Fake GPU'\n")
file(WRITE "${fake}/schedlab" "#!/bin/sh\necho \"$@\" >>'${fake}/asked'\n")
file(CHMOD "${fake}/nvidia-smi" "${fake}/schedlab" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
function(fake_campaign expected)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PATH=${fake}:$ENV{PATH}" bash "${SCRIPT}" --program
                          "${fake}/schedlab" --out "${fake}/out" crossover RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code STREQUAL expected)
    message(FATAL_ERROR "crossover on a device that is only named: exit code ${code}, expected ${expected}:\n${output}")
  endif()
endfunction()
fake_campaign(1)
if(EXISTS "${fake}/asked")
  message(FATAL_ERROR "crossover ran without a machine file")
endif()
file(WRITE "${fake}/out/machine.json" "{}")
fake_campaign(0)
file(READ "${fake}/asked" asked)
if(NOT asked MATCHES "validate experiments/host_crossover.json --machine ${fake}/out/machine.json .*--device cuda")
  message(FATAL_ERROR "crossover asked the program for something else:\n${asked}")
endif()

execute_process(COMMAND bash "${SCRIPT}" --device tpu RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
if(NOT code EQUAL 2)
  message(FATAL_ERROR "an unknown device was not refused")
endif()
