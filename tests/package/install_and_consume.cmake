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

# What the library simulates is what the program simulates: the same metrics, byte for byte.
file(GLOB specs "${SPECS}/*.json")
list(LENGTH specs count)
if(count LESS 10)
  message(FATAL_ERROR "ten specs were expected, found ${count}")
endif()
file(MAKE_DIRECTORY "${SCRATCH}/library")
run("simulating with the library" "${SCRATCH}/build/simulate_specs" "${SCRATCH}/library" ${specs})
foreach(spec IN LISTS specs)
  cmake_path(GET spec STEM name)
  run("simulating ${name} with the program" "${SCRATCH}/prefix/bin/schedlab" simulate "${spec}" --out
      "${SCRATCH}/program/${name}")
  run("comparing the metrics of ${name}" "${CMAKE_COMMAND}" -E compare_files
      "${SCRATCH}/library/${name}.json" "${SCRATCH}/program/${name}/metrics.json")
endforeach()
message(STATUS "${count} specs have the same metrics in the library and in the program")
