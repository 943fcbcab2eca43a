# SPDX-License-Identifier: Apache-2.0
# The handwritten digits, trained by a pipeline of two ranks, are told apart in 97 of 100 cases.
#   cmake -DPROGRAM=<file> -DSCRIPT=<export_digits.py> -DSPEC=<training_digits.json> -DFOLDER=<folder> -P train_digits.cmake
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
# Debian's package belongs to Debian's python, whatever comes first in PATH.
execute_process(COMMAND /usr/bin/python3 "${SCRIPT}" "${FOLDER}/digits.csv" RESULT_VARIABLE code OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT code STREQUAL 0)
  message("skipped: the digits were not exported: ${output}")
  return()
endif()
file(COPY "${SPEC}" DESTINATION "${FOLDER}")
get_filename_component(name "${SPEC}" NAME)
execute_process(COMMAND "${PROGRAM}" execute "${FOLDER}/${name}" --device mpi --out "${FOLDER}/out" RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code STREQUAL 0)
  message(FATAL_ERROR "exit code ${code}:\n${output}")
endif()
file(READ "${FOLDER}/out/training.json" results)
string(JSON accuracy GET "${results}" test_accuracy)
string(JSON same GET "${results}" same_as_unsplit)
message(STATUS "accuracy ${accuracy}")
if(accuracy LESS 0.97 OR NOT same)
  message(FATAL_ERROR "accuracy ${accuracy}, expected at least 0.97:\n${output}")
endif()
