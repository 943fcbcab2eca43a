# SPDX-License-Identifier: Apache-2.0
# schedlab_add_library, schedlab_add_executable, schedlab_add_test: the only way targets are made here.

# schedlab_add_library(<name> [INTERNAL] HEADERS <h>... SOURCES <c>... DEPENDS <public>... PRIVATE <linked>...
#                      HEADER_ONLY <h-o>... [APART <batch> <c>... ...])
#
# Makes the target schedlab_<name> and the alias schedlab::<name>, from files listed by hand relative to the folder.
# INTERNAL     of the program and its tests: not installed.
# HEADERS      all installed, under include/schedlab/<folder>; each must compile alone (scripts/check_headers.py).
# DEPENDS      targets that appear in public headers.
# PRIVATE      libraries used only in sources and linked.
# HEADER_ONLY  header-only packages used only in sources: consumers of the install do not need them.
# APART        <batch> <c>... ...: SCHEDLAB_UNITY_LIBRARIES compiles the sources of a folder as one unit; those listed
#              here, some file-local name of which another source of the folder has too, go to the numbered batch instead.
#              So do all others of a small folder that is listed. What is generated is one unit.
# Without SOURCES the library is an interface library, so a folder may start with headers alone.
# A sanitizer's build is -O0, which compiles in less than half the time; the libraries that compute for long are not.
set(schedlab_libraries_that_compute sim workloads policies hw_models real_exec)

function(schedlab_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INTERNAL" "" "HEADERS;SOURCES;DEPENDS;PRIVATE;HEADER_ONLY;APART")
  schedlab_refuse_unknown_arguments(schedlab_add_library ${name} "${arg_UNPARSED_ARGUMENTS}")
  set(target schedlab_${name})

  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
    foreach(item IN LISTS arg_HEADER_ONLY ITEMS schedlab_warnings)
      target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${item}>")
    endforeach()
    if(SCHEDLAB_SANITIZE AND name IN_LIST schedlab_libraries_that_compute)
      target_compile_options(${target} PRIVATE -Og)
    endif()
    if(SCHEDLAB_UNITY_LIBRARIES)
      # One unit per folder and batch: fewer would leave a processor without work at the end.
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
      foreach(source IN LISTS arg_SOURCES)
        if(NOT source MATCHES "[.]cpp$")
          continue()
        endif()
        cmake_path(GET source PARENT_PATH folder)
        if(IS_ABSOLUTE "${source}")
          set(folder generated)
        endif()
        if(folder STREQUAL "" AND source MATCHES "^cmd_")
          set(folder verbs) # with the parser of command lines, which the others of the folder do without
        endif()
        string(MAKE_C_IDENTIFIER "in_${folder}" group)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
      endforeach()
      foreach(item IN LISTS arg_APART)
        if(item MATCHES "^[0-9]+$")
          set(batch ${item})
          continue()
        endif()
        set(apart ${arg_SOURCES})
        if(item MATCHES "[.]cpp$")
          list(FILTER apart INCLUDE REGEX "^${item}$")
        else()
          list(FILTER apart INCLUDE REGEX "^${item}/[^/]+[.]cpp$")
        endif()
        if(NOT apart)
          message(FATAL_ERROR "schedlab_add_library(${name}): APART names ${item}, which is no source and no folder")
        endif()
        set_source_files_properties(${apart} PROPERTIES UNITY_GROUP batch_${batch})
      endforeach()
    endif()
    if(SCHEDLAB_PRECOMPILE_LIBRARIES)
      target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <filesystem> <functional> <map> <memory>
                                 <optional> <span> <string> <variant> <vector>)
      if("fmt::fmt" IN_LIST arg_PRIVATE OR "fmt::fmt" IN_LIST arg_DEPENDS OR "fmt::fmt" IN_LIST arg_HEADER_ONLY)
        target_precompile_headers(${target} PRIVATE <fmt/format.h>)
      endif()
      if("nlohmann_json::nlohmann_json" IN_LIST arg_HEADER_ONLY)
        target_precompile_headers(${target} PRIVATE <nlohmann/json.hpp>)
      endif()
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(schedlab::${name} ALIAS ${target})

  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)

  if(arg_INTERNAL)
    return()
  endif()
  install(
    TARGETS ${target}
    EXPORT schedlabTargets
    FILE_SET HEADERS DESTINATION include/schedlab
    INCLUDES DESTINATION include/schedlab
    ARCHIVE DESTINATION lib)
endfunction()

# schedlab_add_executable(<name> SOURCES <c>... DEPENDS <targets>...): a program users run; installed to bin, built at
# the top of the build folder so that documentation can say build/<preset>/<name>.
function(schedlab_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  schedlab_refuse_unknown_arguments(schedlab_add_executable ${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} schedlab_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT program)
endfunction()

# The libraries that are other ones where an optional package is missing (the test "layering" holds the rest to that). What
# links them itself gets the label "optional": it is what the preset no-optional builds and runs. Nearly all tests link
# them through the studies or the verbs; those that execute a plan or start ranks say "optional" themselves.
set(schedlab_optional_libraries schedlab::profiler schedlab::real_exec schedlab::calibration)

# schedlab_add_test(<name> SOURCES <c>... DEPENDS <targets>... LABELS <kinds>... [TIMEOUT <seconds>] [COST <seconds>]
#                   [RANKS <n>] [UNSANITIZED <test case>...])
#
# One doctest program with its ctest entry. LABELS are unit, property, golden, reference, gpu, mpi; 77 as exit code means
# skipped. With SCHEDLAB_TEST_LABELS set, tests without one of those labels are not even built.
# COST         of the long ones, roughly: they are started first, so that none is left running alone at the end.
# RANKS        started by mpirun on so many ranks.
# UNSANITIZED  cases that run code which others run too, only more of it: left out under a sanitizer, where they take
#              minutes. Commas of their names stand as "?".
function(schedlab_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST;RANKS" "SOURCES;DEPENDS;LABELS;UNSANITIZED")
  schedlab_refuse_unknown_arguments(schedlab_add_test ${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_LABELS)
    message(FATAL_ERROR "schedlab_add_test(${name}): LABELS is missing (unit, property, golden, reference, gpu)")
  endif()
  foreach(library IN LISTS schedlab_optional_libraries)
    if(library IN_LIST arg_DEPENDS)
      list(APPEND arg_LABELS optional)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES arg_LABELS)
  schedlab_is_wanted(wanted "${arg_LABELS}")
  if(NOT wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(case_filter "")
  if(SCHEDLAB_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}") # a sanitizer without optimization takes ten times as long and more
    if(arg_UNSANITIZED)
      list(JOIN arg_UNSANITIZED "," cases)
      set(case_filter "--test-case-exclude=${cases}")
    endif()
  endif()

  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} schedlab_test_support schedlab_warnings)
  target_precompile_headers(${name} REUSE_FROM schedlab_test_support)
  set(launcher "")
  if(arg_RANKS)
    set(launcher ${SCHEDLAB_MPIRUN} -n ${arg_RANKS})
  endif()
  add_test(NAME ${name} COMMAND ${launcher} "$<TARGET_FILE:${name}>" ${case_filter} WORKING_DIRECTORY
                                                                                    "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(
    ${name}
    PROPERTIES LABELS "${arg_LABELS}"
               SKIP_RETURN_CODE 77
               TIMEOUT ${arg_TIMEOUT}
               ENVIRONMENT "${SCHEDLAB_TEST_ENVIRONMENT}")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_RANKS)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

# schedlab_add_script_test(<name> LABELS <kinds>... [TIMEOUT <seconds>] [COST <seconds>] COMMAND <command>...): a ctest entry
# that needs no program of its own. A line of output that starts with "skipped:" marks it as skipped. COST and the label
# "optional" (of all that run schedlab) as in schedlab_add_test.
function(schedlab_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST" "LABELS;COMMAND")
  schedlab_refuse_unknown_arguments(schedlab_add_script_test ${name} "${arg_UNPARSED_ARGUMENTS}")
  if(arg_COMMAND MATCHES "TARGET_FILE:schedlab>")
    list(APPEND arg_LABELS optional)
  endif()
  schedlab_is_wanted(wanted "${arg_LABELS}")
  if(NOT wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_REGULAR_EXPRESSION
                                                                                        "skipped:")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# Sets <variable> to whether SCHEDLAB_TEST_LABELS asks for a test with these labels.
function(schedlab_is_wanted variable labels)
  set(wanted TRUE)
  if(SCHEDLAB_TEST_LABELS)
    set(wanted FALSE)
    foreach(label IN LISTS labels)
      if(label IN_LIST SCHEDLAB_TEST_LABELS)
        set(wanted TRUE)
      endif()
    endforeach()
  endif()
  set(${variable} ${wanted} PARENT_SCOPE)
endfunction()

function(schedlab_refuse_unknown_arguments function name unknown)
  if(unknown)
    message(FATAL_ERROR "${function}(${name}): unknown arguments: ${unknown}")
  endif()
endfunction()
