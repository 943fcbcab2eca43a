# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${SCRATCH}")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix")
run("configuring the consumer" "${CMAKE_COMMAND}" -G Ninja -S "${CONSUMER}" -B "${SCRATCH}/build"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DWANTED_VERSION=${VERSION}")
run("building the consumer" "${CMAKE_COMMAND}" --build "${SCRATCH}/build")
run("the consumer" "${SCRATCH}/build/consumer")
message(STATUS "the consumer says: ${output}")
