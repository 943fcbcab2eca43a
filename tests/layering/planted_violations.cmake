# SPDX-License-Identifier: Apache-2.0
# Each planted file breaks one rule of layering.cmake and must be found with the right words; a clean tree must pass.
cmake_minimum_required(VERSION 3.25)

set(header "// SPDX-License-Identifier: Apache-2.0\n")

function(plant file text)
  file(REMOVE_RECURSE "${SCRATCH}")
  file(WRITE "${SCRATCH}/sim/base/clean.cpp" "${header}#include \"sim/base/error.hpp\"\n#include <vector>\n")
  file(WRITE "${SCRATCH}/${file}" "${text}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${SCRATCH}" -P "${RULES}"
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  set(status "${status}" PARENT_SCOPE)
  # CMake wraps its messages; the words are compared without the line breaks.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(must_be_found words file text)
  plant("${file}" "${text}")
  string(FIND "${output}" "${words}" position)
  if(status EQUAL 0 OR position EQUAL -1)
    message(SEND_ERROR "planted in ${file}, expected \"${words}\", got status ${status}: ${output}")
  endif()
endfunction()

function(must_pass file text)
  plant("${file}" "${text}")
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${file} is clean but was rejected: ${output}")
  endif()
endfunction()

must_be_found("hw_models/x.cpp: hw_models must not include policies (allowed: sim)" hw_models/x.cpp
              "${header}#include \"policies/heft.hpp\"\n")
must_be_found("sim/plan/x.cpp: sim/plan must not include sim/engine (order: base < graph" sim/plan/x.cpp
              "${header}#include \"sim/engine/simulator.hpp\"\n")
must_be_found("sim must not include workloads" sim/base/x.cpp "${header}#  include \"workloads/models/recurrent/lstm.hpp\"\n")
must_be_found("studies/spec/x.cpp: studies/spec must not include studies/sweep (order: base < spec" studies/spec/x.cpp
              "${header}#include \"studies/sweep/sweep_run.hpp\"\n")
must_be_found("calibration must not include studies" calibration/x.cpp "${header}#include \"studies/spec/spec.hpp\"\n")
must_be_found("cli/x.cpp: cli must not include sim (allowed: studies, calibration)" cli/x.cpp
              "${header}#include \"sim/engine/simulator.hpp\"\n")
must_be_found("write includes from the root" policies/x.cpp "${header}#include \"heft.hpp\"\n")
must_be_found("<tbb/parallel_for.h> may only be included by" policies/x.cpp "${header}#include <tbb/parallel_for.h>\n")
must_be_found("<nlohmann/json.hpp> may only be included by" sim/plan/plan_json.hpp
              "${header}#pragma once\n#include <nlohmann/json.hpp>\n")
must_be_found("only main ends the process" policies/x.cpp "${header}void f() {\n  std::exit(1);\n}\n")
must_be_found("only main ends the process" cli/x.cpp "${header}void f() {\n  abort();\n}\n")
must_be_found("a library does not print" sim/base/x.cpp "${header}void f() {\n  std::cout << 1;\n}\n")
must_be_found("only real_exec and profiler may depend on which optional packages there are: #ifdef SCHEDLAB_WITH_MPI"
              policies/x.cpp "${header}#ifdef SCHEDLAB_WITH_MPI\n#endif\n")
must_be_found("line 1 must be the SPDX line" sim/base/x.cpp "#include <vector>\n")
must_be_found("#pragma once is missing" sim/base/x.hpp "${header}#include <vector>\n")
string(REPEAT "\n" 500 long)
must_be_found("501 lines, at most 500" sim/base/x.cpp "${header}${long}")
must_pass(sim/engine/x.cpp "${header}${long}")
string(REPEAT "\n" 700 long)
must_be_found("701 lines, at most 700" sim/engine/x.cpp "${header}${long}")

must_pass(cli/main.cpp "${header}#include \"studies/spec/spec.hpp\"\nint main() {\n  std::exit(1);\n}\n")
must_pass(sim/plan/plan_json.cpp "${header}#include <nlohmann/json.hpp>\n// never calls exit(1)\nvoid on_exit(int);\n")
must_pass(hw_models/machine_json.hpp "${header}#pragma once\n#include <nlohmann/json_fwd.hpp>\n")
must_pass(tests/policies/x_test.cpp "${header}#include \"hw_models/a.hpp\"\n#include \"policies/b.hpp\"\n")
