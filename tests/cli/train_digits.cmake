# SPDX-License-Identifier: Apache-2.0
# The handwritten digits, trained by a pipeline of two ranks, are told apart in 97 of 100 cases; in MNIST's format and size
# the published net learns from them what the unsplit one does.
#   cmake -DPROGRAM=<file> -DSCRIPT=<export_digits.py> -DSPEC=<training_digits.json> -DMNIST=<training_mnist.json>
#         -DFOLDER=<folder> -P train_digits.cmake
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

execute_process(COMMAND /usr/bin/python3 "${SCRIPT}" --idx "${FOLDER}/mnist" COMMAND_ERROR_IS_FATAL ANY)
file(READ "${MNIST}" spec)
foreach(number IN ITEMS "batch 24" "microbatches 3" "replicas 2" "iterations 2" "verified_iterations 2")
  separate_arguments(number)
  list(GET number 0 key)
  list(GET number 1 value)
  string(JSON spec SET "${spec}" ${key} ${value})
endforeach()
file(WRITE "${FOLDER}/mnist.json" "${spec}")
execute_process(COMMAND "${PROGRAM}" execute "${FOLDER}/mnist.json" --device mpi --out "${FOLDER}/mnist_out"
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code STREQUAL 0)
  message(FATAL_ERROR "exit code ${code}:\n${output}")
endif()
file(READ "${FOLDER}/mnist_out/training.json" results)
string(JSON same GET "${results}" same_as_unsplit)
string(JSON verified GET "${results}" verified_iterations)
if(NOT same OR NOT verified EQUAL 2 OR NOT output MATCHES "of 359 test samples")
  message(FATAL_ERROR "the split net is not the unsplit one:\n${output}")
endif()
