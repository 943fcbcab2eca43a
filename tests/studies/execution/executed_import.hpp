// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/cmd_execute.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_check.hpp"
#include "studies/explanation/explained_run.hpp"
#include "studies/explanation/import_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab::testing {

/// Imports a file, and executes what came of it on this computer's cores.
struct ExecutedImport {
  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
  StopFlag stop{false};

  [[nodiscard]] std::string imported() const { return (folder.path() / "imported").string(); }

  void import(const std::string& file) {
    const ImportOptions options{.inputs = {file}, .out = imported(), .json = true};
    REQUIRE(run(options, terminal()) == exit_done);
  }

  /// Executes imported/graph.json under a policy. `machine`: with its default cost model, where the
  /// graph has no durations of its own.
  ExplainedRun execute(const nlohmann::json& policy, const std::string& machine = "ideal") {
    nlohmann::json spec{{"workload", {{"kind", "file"}, {"path", imported() + "/graph.json"}}},
                        {"machine", machine},
                        {"policy", policy}};
    if (machine == "ideal") spec["cost_model"] = "fixed";
    const std::filesystem::path file = folder.path() / "spec.json";
    write_file_atomically(file, spec.dump());
    ExecuteOptions options;
    options.spec = file.string();
    options.out = (folder.path() / "run").string();
    options.workers = 2;
    options.host = "shares_core";
    options.repetitions = 1;
    options.pin = false;
    options.overwrite = true;
    options.json = true;
    out.str({});
    REQUIRE(schedlab::run(options, terminal()) == exit_done);
    CHECK(nlohmann::json::parse(out.str()).at("computes") == false);
    CHECK(std::filesystem::exists(folder.path() / "run" / "timeline.svg"));
    return load_explained_run(options.out);
  }

  Terminal terminal() { return {.out = out, .err = err, .interactive = false, .stop = &stop}; }
};

/// Every task ran once, after all that it needs, and the checker finds nothing in the plan.
inline void expect_all_ran(const ExplainedRun& run) {
  CHECK(run.measured);
  CHECK(check(run.graph, run.platform, run.plan).empty());
  REQUIRE(run.trace.tasks.size() == run.graph.task_count());
  IdVector<TaskId, const TaskSpan*> spans(run.graph.task_count(), nullptr);
  for (const TaskSpan& span : run.trace.tasks) {
    REQUIRE(spans[span.task] == nullptr);
    spans[span.task] = &span;
  }
  std::size_t early = 0;
  for (const TaskId task : run.graph.tasks()) {
    for (const TaskId needed : run.graph.predecessors(task)) {
      early += spans[task]->started < spans[needed]->ended ? 1U : 0U;
    }
  }
  CHECK(early == 0);
}

}  // namespace schedlab::testing
