// SPDX-License-Identifier: Apache-2.0
#include "studies/training/execute_mpi_verb.hpp"

#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/ranks/mpi_link.hpp"
#include "real_exec/ranks/thread_ranks.hpp"
#include "real_exec/training/pipeline_run.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/rank_process.hpp"
#include "studies/training/mpi_launch.hpp"
#include "studies/training/resolved_training.hpp"
#include "studies/training/training_results.hpp"
#include "studies/training/training_spec.hpp"

#include <optional>
#include <ostream>
#include <string>

namespace schedlab {
namespace {

/// Throws InputError for an option that does not go with ranks.
void expect_no_other_device(const ExecuteOptions& options) {
  const auto fail = [&](const char* flag, const char* expected) {
    throw InputError({.file = flag,
                      .pointer = {},
                      .found = "--device " + options.device,
                      .expected = expected,
                      .hint = {}});
  };
  if (options.workers > 0) fail("--workers", "--device cpu with it");
  if (!options.proxy.empty()) fail("--proxy", "--device cpu or cuda with it");
  if (options.connections > 0) fail("--connections", "--device cuda with it");
  if (!options.precision.empty()) fail("--precision", "--device cuda with it");
  if (options.debug_sync) fail("--debug-sync", "--device cuda with it");
  if (options.profile) fail("--profile", "--device cuda with it");
  if (options.no_trace) fail("--no-trace", "--device cpu or cuda with it");
}

/// How many ranks a run has, before any starts. Throws what can be said against it.
std::uint32_t ranks_of(const ExecuteOptions& options, const Terminal& terminal) {
  const TrainingSpec spec = load_training_spec(options.spec, &terminal.err);
  const std::uint32_t stages = stages_for_ranks(spec, options.ranks);
  expect_plan(spec, stages);
  if (!options.overwrite) expect_free(options.out, false);
  return spec.training.replicas * (stages / spec.training.virtual_stages);
}

int start_ranks(const ExecuteOptions& options, const Terminal& terminal) {
  const std::uint32_t ranks = ranks_of(options, terminal);
  std::vector<std::string> arguments{
      "execute", options.spec, "--device", "mpi", "--out", options.out};
  if (options.overwrite) arguments.emplace_back("--overwrite");
  if (options.json) arguments.emplace_back("--json");
  return run_on_ranks(ranks, arguments, terminal);
}

int train(const ExecuteOptions& options, RankLink& link, const Terminal& terminal) {
  std::optional<TrainingSpec> spec;
  const bool agreed = ranks_agree(link, terminal, [&] {
    expect_no_other_device(options);
    spec = load_training_spec(options.spec);
    static_cast<void>(stages_for_ranks(*spec, static_cast<std::uint32_t>(link.size())));
    if (link.rank() == 0 && !options.overwrite) expect_free(options.out, false);
  });
  if (!agreed) return exit_usage;
  const ResolvedTraining resolved = resolve_training(*spec, link);
  const PipelineRunResult run = run_pipeline(resolved.training,
                                             resolved.graph,
                                             resolved.plan,
                                             link,
                                             {.iterations = spec->iterations,
                                              .verified_iterations = spec->verified_iterations,
                                              .stop = terminal.stop});
  if (link.rank() != 0) return exit_done;
  TrainingResults results{.spec = *spec, .resolved = resolved, .run = run};
  results.library = link.description();
  results.cores = available_cores();
  results.predicted =
      simulate(resolved.problem(), resolved.plan, {.record_hosts = true, .record_flows = true});
  results.test_accuracy =
      accuracy(resolved.training.net, run.parameters, spec->test.values, spec->test.labels);
  OutputFolder folder(whole_folder(options.out, "execute", options.overwrite), terminal.leftovers);
  const RunFiles files = write_training_files(folder.path(), results);
  folder.publish();
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (options.json) {
    terminal.out << training_results_json(results) << '\n' << std::flush;
  } else {
    terminal.out << training_results_text(results, options.out, files) << std::flush;
  }
  if (results.same_as_unsplit() || results.lossy()) return exit_done;
  terminal.err << "error: the pipeline does not compute what the unsplit net does\n";
  return exit_failed;
}

}  // namespace

int run_on_mpi(const ExecuteOptions& options, const Terminal& terminal) {
  if (launched_ranks()) {
    return run_as_rank(terminal, [&](RankLink& link) { return train(options, link, terminal); });
  }
  expect_no_other_device(options);
  return start_ranks(options, terminal);
}

int run_on_thread_ranks(const ExecuteOptions& options, const Terminal& terminal) {
  expect_no_other_device(options);
  int status = exit_done;
  run_on_threads(static_cast<int>(ranks_of(options, terminal)), [&](RankLink& link) {
    const int own = train(options, link, terminal);
    if (link.rank() == 0) status = own;
  });
  return status;
}

}  // namespace schedlab
