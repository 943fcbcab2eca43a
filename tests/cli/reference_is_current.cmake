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
# Every verb shows how it is used.
file(READ "${FOLDER}/command_line.md" text)
string(REGEX REPLACE "[][;]" " " text "${text}") # no separators of lists but ours
string(REGEX REPLACE "\n## " ";" verbs "${text}")
list(POP_FRONT verbs)
foreach(verb IN LISTS verbs)
  if(NOT verb MATCHES "```sh\n")
    string(REGEX MATCH "^[a-z_]+" name "${verb}")
    message(FATAL_ERROR "no example of the verb ${name}: add one to cli/reference/examples.cpp")
  endif()
endforeach()
