// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/plan_parallel_verb.hpp"

#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/parallel/parallel_plan.hpp"
#include "studies/parallel/parallel_training.hpp"

#include <fmt/format.h>

#include <optional>
#include <ostream>

namespace schedlab {
namespace {

/// What is printed of the training that a plan became.
std::string training_text(const PlannedTraining& training, const std::string& out) {
  if (training.json.empty()) return fmt::format("  no training.json: {}\n", training.why);
  const std::string other =
      training.row == 0 ? std::string{}
                        : fmt::format(" (row {}; row 1: {})", training.row + 1, training.why);
  return fmt::format(
      "  schedlab execute {0}/training.json --device mpi --out {0}/trained{1}\n", out, other);
}

}  // namespace

int run(const PlanParallelOptions& options, const Terminal& terminal) {
  const ParallelSpec spec = load_parallel_spec(options.spec);
  expect_training(spec);
  std::optional<OutputFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(whole_folder(options.out, "plan-parallel", options.overwrite),
                   terminal.leftovers);
  }
  Progress progress(terminal, spec.simulations, 0, "simulations at most");
  const ParallelPlan plan = plan_parallel(
      spec, terminal.stop, [&](std::uint64_t simulations) { progress.update(simulations); });
  progress.finish();
  const ReportDocument report = parallel_report(plan);
  std::optional<PlannedTraining> training;
  if (folder) {
    const auto write = [&](const char* name, const std::string& text) {
      write_file_atomically(folder->path() / name, text);
    };
    write("parallel_plan.json", parallel_plan_json(plan));
    write("rows.csv", parallel_rows_csv(plan));
    write("report.html", html_of(report));
    write("best.json", scenario_of(spec, plan.rows.front(), folder->target()));
    if (has_training(spec)) training = training_of(plan, folder->target());
    if (training && !training->json.empty()) write("training.json", training->json);
    folder->publish();
  }
  if (options.json) {
    terminal.out << parallel_plan_json(plan);
    return exit_done;
  }
  terminal.out << text_of(report);
  if (folder) {
    terminal.out << fmt::format(
        "  {0}: parallel_plan.json, rows.csv, report.html, best.json\n"
        "  schedlab simulate {0}/best.json --out {0}/best\n",
        options.out);
    if (training) terminal.out << training_text(*training, options.out);
  }
  return exit_done;
}

}  // namespace schedlab
