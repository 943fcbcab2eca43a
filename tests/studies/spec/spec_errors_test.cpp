// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "studies/scenario/components.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/speed_up.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

/// What a user sees for a spec, up to the moment when scenarios would run.
std::string message_of(const std::string& text) {
  try {
    const Spec spec = parse_spec(text, "a.json");
    const Grid grid(spec);
    static_cast<void>(Baseline::of(spec, grid));
    Components(spec, grid).check_all();
  } catch (const InputError& error) {
    return error.what();
  } catch (const InfeasibleError& error) {
    return error.what();
  }
  return "no error";
}

std::string spec(const std::string& workload,
                 const std::string& machine,
                 const std::string& policy) {
  return R"({"workload": )" + workload + R"(, "machine": )" + machine + R"(, "policy": )" + policy +
         "}";
}

const std::string lstm = R"({"kind": "lstm", "layers": 2, "steps": 4})";
const std::string v100 = R"("v100")";
const std::string heft = R"("heft")";

struct BadSpec {
  std::string text;
  std::string start;  ///< of the message: file, pointer, found, expected
  std::string hint;   ///< its last line; empty: not checked
};

TEST_CASE(
    "a wrong spec names the place, what stands there, what should, and the nearest spelling") {
  const std::vector<BadSpec> table{
      {spec(lstm, v100, R"("critical_frist")"),
       "a.json: /policy: found \"critical_frist\", expected one of single_stream, layer_by_layer, "
       "diagonal,",
       "did you mean \"critical_first\"?"},
      {spec(lstm, v100, R"(["heft", {"name": "heft", "max_stream": 3}])"),
       "a.json: /policy/1/max_stream: found the unknown key \"max_stream\", expected one of label, "
       "max_streams, name",
       "did you mean \"max_streams\"?"},
      {spec(lstm, v100, R"({"name": "hefd"})"),
       "a.json: /policy/name: found \"hefd\", expected one of single_stream,",
       "did you mean \"heft\"?"},
      {spec(lstm, v100, R"({"nam": "heft"})"),
       "a.json: /policy: found no \"name\", expected \"name\": one of single_stream,",
       "should \"nam\" be \"name\"?"},
      {spec(R"({"kind": "lstm", "layers": 0})", v100, heft),
       "a.json: /workload/layers: found 0, expected a value from 1 to 32767",
       ""},
      {spec(R"({"kind": "lstm", "layers": [2, -1]})", v100, heft),
       "a.json: /workload/layers/1: found -1, expected a value from 1 to 32767",
       ""},
      {spec(R"({"kind": "lstm", "layers": "two"})", v100, heft),
       "a.json: /workload/layers: found \"two\", expected an integer, or a list",
       ""},
      {spec(R"({"kind": "lstm", "layers": 2.5})", v100, heft),
       "a.json: /workload/layers: found 2.5, expected an integer, or a list",
       ""},
      {spec(R"({"kind": "lstm", "layers": 99999999999999999999999})", v100, heft),
       "a.json: /workload/layers: found 1e+23, expected a value from 1 to 32767",
       ""},
      {spec(R"({"kind": "lstm", "layers": [2, 2.0]})", v100, heft),
       "a.json: /workload/layers/1: found \"2\" again, as in /workload/layers/0, expected each "
       "alternative of an axis once",
       ""},
      {spec(lstm, v100, R"({"name": "random", "seed": 1e30})"),
       "a.json: /policy/seed: found 1e+30, expected",
       ""},
      {spec(R"({"kind": "lstm", "layers": [2, [4]]})", v100, heft),
       "a.json: /workload/layers/1: found a list of 1, expected an integer",
       ""},
      {spec(R"({"kind": "lstm", "layers": []})", v100, heft),
       "a.json: /workload/layers: found an empty list, expected at least one value",
       ""},
      {spec(R"({"kind": "lstm", "layers": null})", v100, heft),
       "a.json: /workload/layers: found null, expected an integer, or a list",
       ""},
      {spec(R"({"kind": "lstm", "pass": "backwards"})", v100, heft),
       "a.json: /workload/pass: found \"backwards\", expected one of forward, backward, training",
       "did you mean \"backward\"?"},
      {spec(R"({"layers": 2})", v100, heft),
       "a.json: /workload: found no \"kind\", expected \"kind\": one of lstm,",
       ""},
      {spec(R"("gnmt_lik")", v100, heft),
       "a.json: /workload: found \"gnmt_lik\", expected one of small,",
       "did you mean \"gnmt_like\"?"},
      {spec(R"({"preset": "small", "bach": 2})", v100, heft),
       "a.json: /workload/bach: found the unknown key \"bach\"",
       "did you mean \"batch\"?"},
      {spec(R"({"kind": "file", "path": "no_such_graph.json"})", v100, heft),
       "a.json: /workload/path: found \"./no_such_graph.json\", which is no file, expected the "
       "path of a file, relative to the spec",
       ""},
      {spec(lstm, R"("v10")", heft),
       "a.json: /machine: found the unknown machine \"v10\"",
       "did you mean \"v100\"?"},
      {spec(lstm, R"("no_such_machine.json")", heft),
       "a.json: /machine: found \"./no_such_machine.json\", which is no file, expected the path of "
       "a file, relative to the spec",
       ""},
      {spec(lstm, R"({"path": "no_such_machine.json", "connections": 8})", heft),
       "a.json: /machine/path: found \"./no_such_machine.json\", which is no file",
       ""},
      {spec(lstm, R"({"base": "v100", "conections": 8})", heft),
       "a.json: /machine/conections: found the unknown key \"conections\"",
       "did you mean \"connections\"?"},
      // Of ninety keys those that are like the word, and where all of them are.
      {spec(lstm, R"({"base": "v100", "memory_gb": 8})", heft),
       "a.json: /machine/memory_gb: found the unknown key \"memory_gb\", expected one of ",
       "schedlab list and schedlab schema have all of them"},
      {spec(lstm, R"({"connections": 8})", heft),
       "a.json: /machine: found neither \"base\" nor \"path\", expected one of them",
       ""},
      {spec(lstm, v100, R"({"name": ["heft", "diagonal"], "streams_per_iteration": true})"),
       "a.json: /policy/streams_per_iteration: found the unknown option \"streams_per_iteration\", "
       "expected an option of policy heft: max_streams",
       ""},
      {R"({"machin": "v100"})",
       "a.json: /machin: found the unknown key \"machin\"",
       "did you mean \"machine\"?"},
      {R"({"workload": "small", "machine": "v100"})",
       "a.json: /: found no \"policy\", expected the key \"policy\"",
       ""},
      {"[1]", "a.json: /: found a list of 1, expected a SchedLab spec", ""},
      {R"({"workload": "small", "machine": "v100", "policy": "heft", "baseline": "peft"})",
       "a.json: /baseline: found \"peft\", expected a policy of this spec: heft",
       ""},
      {R"({"workload": "small", "machine": "v100", "policy": "heft",
           "launch": {"name": "sink", "io_tensor": 8}})",
       "a.json: /launch/io_tensor: found the unknown key \"io_tensor\"",
       "did you mean \"io_tensors\"?"},
      {R"({"workload": "small", "machine": "v100", "policy": "heft",
           "launch": {"name": "eager", "runs": 0}})",
       "a.json: /launch/runs: found 0, expected",
       ""},
      {R"({"workload": "small", "machine": {"base": "v100", "host": "pytorch_eagr"}, "policy": "heft"})",
       "a.json: /machine/host: found \"pytorch_eagr\", expected one of own,",
       "did you mean \"pytorch_eager\"?"},
      {R"({"workload": "small", "machine": "v100", "policy": "heft", "launch": "eagr"})",
       "a.json: /launch: found \"eagr\", expected one of eager,",
       "did you mean \"eager\"?"},
      {R"({"workload": "small", "machine": "v100", "policy": "heft", "default_stream": "legcy"})",
       "a.json: /default_stream: found \"legcy\", expected one of per_thread, legacy",
       "did you mean \"legacy\"?"},
  };
  for (const BadSpec& bad : table) {
    const std::string message = message_of(bad.text);
    CAPTURE(bad.text);
    CAPTURE(message);
    CHECK(message.substr(0, bad.start.size()) == bad.start);
    if (bad.hint.empty()) continue;
    CHECK(message.substr(message.rfind('\n') + 1) == "  " + bad.hint);
  }
}

TEST_CASE("what the schema allows is what the registries know") {
  CHECK(message_of(spec(lstm, v100, heft)) == "no error");
  CHECK(
      message_of(spec(R"(["small", {"preset": ["zaremba_medium", "gnmt_like"], "batch": [8, 16]}])",
                      R"(["p100", {"base": "v100", "connections": [8, 32], "label": "x"}])",
                      R"({"name": ["heft", "peft"], "max_streams": [2, 4]})")) == "no error");
  CHECK(message_of(R"({"workload": {"kind": "grid"}, "machine": "ideal", "policy": "diagonal",
                       "cost_model": ["fixed"], "seed": 3, "name": "n", "description": "d",
                       "check": false, "launch": ["eager"], "baseline": "diagonal"})") ==
        "no error");
}

}  // namespace
}  // namespace schedlab
