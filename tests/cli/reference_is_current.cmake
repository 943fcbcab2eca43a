# SPDX-License-Identifier: Apache-2.0
# Makes the reference pages again and compares them with those that are kept.
#   cmake -DPROGRAM=<schedlab> -DKEPT=<docs/reference> -DFOLDER=<out> -P reference_is_current.cmake
file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND "${PROGRAM}" reference markdown --out "${FOLDER}" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB made RELATIVE "${FOLDER}" "${FOLDER}/*.md")
file(GLOB kept RELATIVE "${KEPT}" "${KEPT}/*.md")
if(NOT made STREQUAL kept)
  message(FATAL_ERROR "the pages are ${made}, kept are ${kept}: run scripts/reference.sh")
endif()
foreach(page IN LISTS made)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files "${FOLDER}/${page}" "${KEPT}/${page}" RESULT_VARIABLE differs)
  if(differs)
    execute_process(COMMAND diff "${KEPT}/${page}" "${FOLDER}/${page}" OUTPUT_VARIABLE difference)
    message(FATAL_ERROR "docs/reference/${page} is not what the program says today: run scripts/reference.sh\n${difference}")
  endif()
endforeach()
