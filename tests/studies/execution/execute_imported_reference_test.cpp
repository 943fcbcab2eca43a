// SPDX-License-Identifier: Apache-2.0
// Published traces, executed on this computer's cores.
#include "tests/comparisons/reference_data.hpp"
#include "tests/studies/execution/executed_import.hpp"

namespace schedlab {
namespace {

using nlohmann::json;
using testing::ExecutedImport;

TEST_CASE("a published step of DLRM runs on the cores with its recorded calls, on four streams") {
  const auto data = testing::reference_data("param/dlrm_8rank_v100/rank0.json.gz");
  if (!data) return;
  ExecutedImport session;
  session.import(data->string());
  const ExplainedRun run =
      session.execute({{"name", "plan_file"}, {"path", session.imported() + "/plan.json"}});
  testing::expect_all_ran(run);
  CHECK(run.graph.task_count() == 261);  // 245 kernels and 16 copies
  CHECK(run.plan.streams.size() == 4);
}

TEST_CASE("published execution traces run on the cores") {
  for (const char* name :
       {"hta/execution_trace_simple_add.et.json.gz", "param/dlrm_8rank_v100/rank0.et.json.gz"}) {
    CAPTURE(name);
    const auto data = testing::reference_data(name);
    if (!data) return;
    ExecutedImport session;
    session.import(data->string());
    testing::expect_all_ran(session.execute("single_stream", "v100"));
  }
}

}  // namespace
}  // namespace schedlab
