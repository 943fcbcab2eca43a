# SPDX-License-Identifier: Apache-2.0
# Checks the rules about who may include what, and a few others that a compiler does not check.
#   cmake -DROOT=<checkout> -P tests/layering.cmake
# The tables are the rules; CONTRIBUTING.md explains them.
cmake_minimum_required(VERSION 3.25)

# Folder -> what it may include besides itself.
set(allowed_sim "")
set(allowed_workloads sim)
set(allowed_policies sim)
set(allowed_hw_models sim)
set(allowed_profiler sim)
set(allowed_real_exec sim workloads profiler)
set(allowed_notebooks_export sim)
set(allowed_calibration sim workloads policies hw_models profiler real_exec)
set(allowed_studies ${allowed_calibration} calibration notebooks_export)
set(allowed_cli studies calibration)
set(allowed_python ${allowed_studies} studies)
set(allowed_tests ${allowed_studies} studies cli python)
set(folders ${allowed_tests} tests)

# What verbs need besides studies: files, errors, interrupts and the text of tables (a verb prints what a study hands it).
set(cli_headers "sim/base/(error|file|gzip|interrupt|spelling)\\.hpp|sim/trace/text_direction\\.hpp|notebooks_export/csv\\.hpp")

# The package declares the verbs and flags that the program does.
set(python_headers "cli/program\\.hpp")

# A subfolder of these may include itself and those before it.
set(order_of_sim base graph machine pipeline plan launch bounds trace engine sweep)
set(order_of_studies base spec scenario search sensitivity execution emit sweep buckets partition training parallel validation reproduction explanation comparison serving)

# Third-party header => files that may include it, both as regular expressions; each package has one owner and stays
# out of public headers (those named here are internal, not installed). Tests may include everything.
set(third_party
    "nlohmann/json_fwd => (json|schema)[a-z_]*\\.(hpp|cpp)$|^(cli|studies|calibration)/.*\\.cpp$"
    "nlohmann/(json\\.|ordered_map|adl) => (json|schema)[a-z_]*\\.cpp$|^cli/|^(studies|calibration)/.*\\.cpp$|^sim/base/(json_document|fields)\\.hpp$"
    "simdjson => json[a-z_]*\\.cpp$|^workloads/(formats/json_values|traces/json_dom)\\.hpp$"
    "sqlite3\\.h => ^studies/sweep/.*\\.cpp$"
    "CLI/ => ^cli/"
    "Eigen/ => ^(hw_models|real_exec)/.*\\.cpp$"
    "boost/ => ^sim/graph/|^workloads/.*\\.cpp$|^studies/serving/.*\\.cpp$"
    "tbb/|oneapi/tbb => ^sim/sweep/.*\\.cpp$"
    "zlib\\.h => gzip[a-z_]*\\.cpp$"
    "cuda => ^(real_exec|profiler)/"
    "CL/cl|clblast => ^real_exec/opencl/"
    "cublas|cudnn => ^real_exec/"
    "cupti => ^profiler/"
    "dnnl|oneapi/dnnl => ^real_exec/.*\\.cpp$"
    "mpi\\.h => ^(real_exec|sim/sweep)/.*\\.cpp$"
    "pybind11/ => ^python/"
    "simgrid/|benchmark/|doctest/ => ^tests/")

set(longest_file 500)
set(longest_engine_file 700)  # an engine is read along one event: its class stays in one or two files
set(engines "^(sim/engine|sim/plan|real_exec)/")

set_property(GLOBAL PROPERTY violations "")
function(violation text)
  set_property(GLOBAL APPEND_STRING PROPERTY violations "  ${text}\n")
endfunction()

function(check_own_include file folder included)
  string(REGEX MATCH "^[^/]+" other "${included}")
  if(NOT included MATCHES "/" OR NOT other IN_LIST folders)
    violation("${file}: \"${included}\": write includes from the root of the repository (sim/..., policies/...)")
  elseif(folder STREQUAL "python" AND included MATCHES "^(${python_headers})$")
    return()
  elseif(folder STREQUAL "cli" AND included MATCHES "^(${cli_headers})$")
    return()
  elseif(NOT other STREQUAL folder AND NOT other IN_LIST allowed_${folder})
    list(JOIN allowed_${folder} ", " allowed)
    violation("${file}: ${folder} must not include ${other} (allowed: ${allowed})")
  elseif(other STREQUAL folder AND DEFINED order_of_${folder})
    string(REGEX REPLACE "^[^/]+/([^/]+)/.*" "\\1" here "${file}")
    string(REGEX REPLACE "^[^/]+/([^/]+)/.*" "\\1" there "${included}")
    list(FIND order_of_${folder} "${here}" here_rank)
    list(FIND order_of_${folder} "${there}" there_rank)
    if(here_rank EQUAL -1 OR there_rank EQUAL -1 OR there_rank GREATER here_rank)
      list(JOIN order_of_${folder} " < " order)
      violation("${file}: ${folder}/${here} must not include ${folder}/${there} (order: ${order})")
    endif()
  endif()
endfunction()

function(check_third_party file folder included)
  if(folder STREQUAL "tests")
    return()
  endif()
  foreach(rule IN LISTS third_party)
    string(REGEX REPLACE " => .*" "" headers "${rule}")
    string(REGEX REPLACE ".* => " "" owners "${rule}")
    if(included MATCHES "^(${headers})" AND NOT file MATCHES "${owners}")
      violation("${file}: <${included}> may only be included by files that match ${owners}")
    endif()
  endforeach()
endfunction()

function(check_includes file folder)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]+).*" "\\1" kind "${line}")
    string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]+).*" "\\1" included "${line}")
    if(kind STREQUAL "<")
      check_third_party("${file}" ${folder} "${included}")
    else()
      check_own_include("${file}" ${folder} "${included}")
    endif()
  endforeach()
endfunction()

# Code lines of `file` that match `pattern`, as one text; comment lines do not count.
function(find_code variable file pattern)
  file(STRINGS "${ROOT}/${file}" lines REGEX "${pattern}")
  set(hits "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^[ \t]*(//|\\*)")
      string(STRIP "${line}" line)
      string(APPEND hits " ${line}")
    endif()
  endforeach()
  set(${variable} "${hits}" PARENT_SCOPE)
endfunction()

function(check_calls file folder)
  if(folder STREQUAL "tests")
    return()
  endif()
  if(NOT file MATCHES "/main\\.cpp$")
    find_code(hits "${file}" "(^|[^A-Za-z0-9_.>\"])(exit|_Exit|_exit|quick_exit|abort|terminate)[ ]*\\(")
    if(hits)
      violation("${file}: only main ends the process, a library throws:${hits}")
    endif()
  endif()
  if(NOT folder STREQUAL "cli")
    find_code(hits "${file}" "std::(cout|cerr|clog|puts)|(^|[^A-Za-z0-9_])f?printf[ ]*\\(|fmt::print[ ]*\\(")
    if(hits)
      violation("${file}: a library does not print, it returns or throws:${hits}")
    endif()
  endif()
endfunction()

# Others are the same whatever is installed, which is why the preset no-optional does not test them again.
function(check_conditions file folder)
  if(folder MATCHES "^(real_exec|profiler|tests)$")
    return()
  endif()
  find_code(hits "${file}" "SCHEDLAB_WITH_")
  if(hits)
    violation("${file}: only real_exec and profiler may depend on which optional packages there are:${hits}")
  endif()
endfunction()

function(check_form file)
  file(READ "${ROOT}/${file}" text)
  if(NOT text MATCHES "^(//|#) SPDX-License-Identifier: Apache-2\\.0\n")
    violation("${file}: line 1 must be the SPDX line of the other files")
  endif()
  if(file MATCHES "\\.(hpp|cuh)$" AND NOT text MATCHES "\n#pragma once\n")
    violation("${file}: #pragma once is missing")
  endif()
  string(REGEX REPLACE "[^\n]+" "" newlines "${text}")
  string(LENGTH "${newlines}" lines)
  set(longest ${longest_file})
  if(file MATCHES "${engines}")
    set(longest ${longest_engine_file})
  endif()
  if(lines GREATER longest)
    violation("${file}: ${lines} lines, at most ${longest} are allowed: split it")
  endif()
endfunction()

set(checked 0)
foreach(folder IN LISTS folders)
  file(
    GLOB_RECURSE files
    RELATIVE "${ROOT}"
    "${ROOT}/${folder}/*.hpp" "${ROOT}/${folder}/*.cpp" "${ROOT}/${folder}/*.cu" "${ROOT}/${folder}/*.cuh"
    "${ROOT}/${folder}/*.h")
  foreach(file IN LISTS files)
    check_includes("${file}" ${folder})
    check_calls("${file}" ${folder})
    check_conditions("${file}" ${folder})
    check_form("${file}")
    math(EXPR checked "${checked} + 1")
  endforeach()
endforeach()

get_property(violations GLOBAL PROPERTY violations)
if(violations)
  message(FATAL_ERROR "layering rules are broken:\n${violations}")
elseif(checked EQUAL 0)
  message(FATAL_ERROR "${ROOT} has no source files: is ROOT the checkout?")
endif()
message(STATUS "layering: ${checked} files, no violation")
