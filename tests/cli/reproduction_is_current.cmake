# SPDX-License-Identifier: Apache-2.0
# Reproduces all systems on their small grids and compares the page with the one that is kept.
#   cmake -DPROGRAM=<schedlab> -DKEPT=<reproduction_quick.md> -DPAGE=<docs/reproduction.md> -DFOLDER=<out>
#         -P reproduction_is_current.cmake
execute_process(
  COMMAND "${PROGRAM}" reproduce --quick --out "${FOLDER}" --overwrite
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "exit code ${status}:\n${output}")
endif()
set(remedy "run scripts/reproduction.sh, and read what it changed")
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files "${FOLDER}/reproduction.md" "${KEPT}" RESULT_VARIABLE differs)
if(differs)
  execute_process(COMMAND diff "${KEPT}" "${FOLDER}/reproduction.md" OUTPUT_VARIABLE difference)
  message(FATAL_ERROR "${KEPT} is not what comes out today: ${remedy}\n${difference}")
endif()
# The page of the whole grids takes minutes and is not made again here, but it must be about the same numbers.
foreach(page IN ITEMS KEPT PAGE)
  file(READ "${${page}}" text)
  string(REGEX MATCHALL "\n\\| `[a-z0-9_]+`" ids_${page} "${text}")
endforeach()
if(NOT ids_KEPT STREQUAL ids_PAGE)
  message(FATAL_ERROR "${PAGE} is about other numbers than ${KEPT}: ${remedy}")
endif()
