// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/run_origin.hpp"
#include "tests/studies/execution/executed_import.hpp"
#include "tests/studies/explanation/imported_profile.hpp"

#include <chrono>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ExecutedImport;

/// Two streams: b waits for the event behind a, c runs beside b, and the host waits for all.
std::string two_stream_profile() {
  const json events = json::array({testing::profile_call("cudaLaunchKernel", 1, 10, 5),
                                   testing::profile_kernel("a", 1, 7, 20, 400),
                                   testing::profile_call("cudaEventRecord", 2, 16, 2),
                                   testing::profile_call("cudaStreamWaitEvent", 3, 20, 2),
                                   testing::profile_call("cudaLaunchKernel", 4, 24, 5),
                                   testing::profile_kernel("b", 4, 20, 422, 300),
                                   testing::profile_call("cudaLaunchKernel", 5, 30, 5),
                                   testing::profile_kernel("c", 5, 7, 421, 200),
                                   testing::profile_call("cudaDeviceSynchronize", 6, 40, 690)});
  return json{{"schemaVersion", 1}, {"traceEvents", events}}.dump();
}

TEST_CASE("an imported profile runs on the cores, with its recorded calls and under policies") {
  ExecutedImport session;
  const std::string profile = (session.folder.path() / "profile.json").string();
  write_file_atomically(profile, two_stream_profile());
  session.import(profile);
  const json recorded{{"name", "plan_file"}, {"path", session.imported() + "/plan.json"}};
  for (const json& policy : {recorded, json("single_stream"), json("bottom_level")}) {
    CAPTURE(policy.dump());
    const ExplainedRun run = session.execute(policy);
    testing::expect_all_ran(run);
    REQUIRE(run.graph.task_count() == 3);
    const TaskSpan& first = run.trace.tasks.front();
    CHECK(run.graph.operation(first.task).name == "a");
    CHECK(first.duration() > 0us);
  }
}

TEST_CASE("an imported execution trace runs on the cores as products and copies of its shapes") {
  // a[64, 32] * b[32, 48] = c[64, 48], of which relu_ makes itself, and which sum reads
  const auto node = [](int id, const char* name, json inputs, json output, const char* schema) {
    json made{{"id", id}, {"parent", 2}, {"name", name}, {"op_schema", schema}};
    for (const char* side : {"input", "output"}) {
      json values = json::array();
      json shapes = json::array();
      json types = json::array();
      for (const json& tensor : side[0] == 'i' ? inputs : json::array({output})) {
        const int elements = tensor[1][0].get<int>() * tensor[1][1].get<int>();
        values.push_back({tensor[0], tensor[0], 0, elements, 4, "cuda:0"});
        shapes.push_back(tensor[1]);
        types.push_back("Tensor(float)");
      }
      made[std::string{side} + "s"] = values;
      made[std::string{side} + "_shapes"] = shapes;
      made[std::string{side} + "_types"] = types;
    }
    return made;
  };
  const json a{10, {64, 32}};
  const json b{11, {32, 48}};
  const json c{12, {64, 48}};
  const json nodes{
      node(3, "aten::mm", {a, b}, c, "aten::mm(Tensor self, Tensor mat2) -> Tensor"),
      node(4, "aten::relu_", json::array({c}), c, "aten::relu_(Tensor(a!) self) -> Tensor(a!)"),
      node(5, "aten::sum", json::array({c}), {13, {1, 1}}, "aten::sum(Tensor self) -> Tensor")};
  ExecutedImport session;
  const std::string file = (session.folder.path() / "model.et.json").string();
  write_file_atomically(file, json{{"schema", "1.0.1"}, {"nodes", nodes}}.dump());
  session.import(file);
  const ExplainedRun run = session.execute("heft", "v100");
  testing::expect_all_ran(run);
  REQUIRE(run.graph.task_count() == 3);
  CHECK(run.graph.edge_count() >= 2);  // relu_ after mm, sum after relu_
  CHECK(run.trace.tasks.front().duration() > 0us);
}

TEST_CASE("a run may come of a spec in the current folder, whose folder has no name") {
  const testing::TemporaryFolder folder;
  const RunOrigin origin{
      .verb = "execute", .spec = "{}", .spec_file = "spec.json", .spec_folder = {}};
  const json written = json::parse(run_origin_json(origin, folder.path() / "run"));
  const std::filesystem::path back =
      folder.path() / "run" / written.at("spec_folder").get<std::string>();
  CHECK(std::filesystem::weakly_canonical(back / "x") ==
        std::filesystem::weakly_canonical(std::filesystem::current_path() / "x"));
}

}  // namespace
}  // namespace schedlab
