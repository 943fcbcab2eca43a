// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/progress.hpp"
#include "studies/base/rank_process.hpp"
#include "studies/base/stop_after.hpp"
#include "studies/scenario/required_evidence.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/adaptive_sweep.hpp"
#include "studies/sweep/merge_shards.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/speed_up.hpp"
#include "studies/sweep/sweep_pictures.hpp"
#include "studies/sweep/sweep_ranks.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <vector>

namespace schedlab {
namespace {

/// Everything the closing summary speaks of.
struct Outcome {
  SweepCounts counts;
  ResultsDigest digest;
  RunFiles files;
  std::vector<std::string> comparison;  ///< in sentences
};

void print_text(const Terminal& terminal,
                const std::string& out,
                const Grid& grid,
                const Outcome& outcome) {
  const SweepCounts& counts = outcome.counts;
  terminal.out << counted(counts.scenarios, "scenario");
  if (counts.kept > 0) terminal.out << fmt::format(", {} of them from an earlier run", counts.kept);
  if (counts.ran > 0) {
    terminal.out << fmt::format("; {} run in {:.2f} s, {:.0f}/s",
                                counts.ran,
                                counts.seconds,
                                static_cast<double>(counts.ran) / counts.seconds);
  }
  terminal.out << fmt::format("\n  {}: {}\n", out, fmt::join(outcome.files.files, ", "));
  for (const std::string& line : outcome.comparison) terminal.out << "  " << line << '\n';
  const ResultsDigest& digest = outcome.digest;
  if (digest.failed > 0) {
    terminal.err << fmt::format("error: {} without a result; the column note says why\n",
                                counted(digest.failed, "scenario"));
  }
  if (digest.with_findings > 0) {
    terminal.err << fmt::format("error: the plan checker objects to {}; see column findings\n",
                                counted(digest.with_findings, "plan"));
  }
  if (!digest.first_note.empty()) {
    const std::string axes = grid.describe(digest.first_note_scenario);
    terminal.err << fmt::format("  first: scenario {}{}: {}\n",
                                digest.first_note_scenario,
                                axes.empty() ? "" : " (" + axes + ")",
                                digest.first_note);
  }
}

void print_json(const Terminal& terminal, const std::string& out, const Outcome& outcome) {
  const SweepCounts& counts = outcome.counts;
  const nlohmann::ordered_json summary{{"verb", "sweep"},
                                       {"out", out},
                                       {"files", outcome.files.files},
                                       {"scenarios", counts.scenarios},
                                       {"kept", counts.kept},
                                       {"ran", counts.ran},
                                       {"failed", outcome.digest.failed},
                                       {"with_findings", outcome.digest.with_findings},
                                       {"comparison", outcome.comparison},
                                       {"interrupted", counts.interrupted},
                                       {"seconds", counts.seconds}};
  terminal.out << summary.dump(2) << '\n';
}

/// What a run asks for; `check`: what the spec says of the plan checker.
SweepRequest request_of(const SweepOptions& options, bool check) {
  SweepRequest request{.out = options.out,
                       .jobs = options.jobs,
                       .resume = options.resume,
                       .overwrite = options.overwrite,
                       .check = check && !options.no_check};
  if (options.shard.empty()) return request;
  request.shard = shard_of(options.shard);
  request.out /= shard_folder(request.shard);
  return request;
}

/// A sweep as its options and spec say, checked.
struct LoadedSweep {
  LoadedSweep(const SweepOptions& options, std::ostream* notes)
      : spec(load_spec(options.spec, notes)),
        grid(spec, reserved_columns(spec)),
        baseline(Baseline::of(spec, grid)),
        space(spec, grid),
        request(request_of(options, spec.check)) {
    space.components().check_all();
    if (spec.adaptive) adaptive.emplace(spec, grid);
  }
  LoadedSweep(const LoadedSweep&) = delete;
  LoadedSweep& operator=(const LoadedSweep&) = delete;
  ~LoadedSweep() = default;

  [[nodiscard]] ResultsStore open(OutputFolder& folder) const {
    return open_results(spec, grid, folder, request.shard);
  }
  [[nodiscard]] bool whole() const { return request.shard.count == 1; }

  Spec spec;
  Grid grid;
  std::optional<Baseline> baseline;
  ScenarioSpace space;
  SweepRequest request;
  std::optional<AdaptiveSweep> adaptive;  ///< nullopt: the whole grid is run
};

/// What an adaptive sweep runs depends on all that it has run before.
void refuse_parts(const LoadedSweep& sweep, std::string_view verb) {
  if (!sweep.adaptive) return;
  throw InputError({.file = sweep.spec.file,
                    .pointer = "/adaptive",
                    .found = fmt::format("an adaptive sweep with {}", verb),
                    .expected = "a sweep of the whole grid",
                    .hint = "run it as one process, with as many threads as there are; parts of an "
                            "adaptive sweep depend on each other"});
}

void say_stopped(const SweepOptions& options, const SweepCounts& counts, const Terminal& terminal) {
  terminal.err << fmt::format(
      "stopped after {} of {} scenarios; they are kept\n  go on with: schedlab sweep {} --out {}{} "
      "--resume\n",
      counts.kept + counts.ran,
      counts.scenarios,
      options.spec,
      options.out,
      options.shard.empty() ? "" : " --shard " + options.shard);
}

/// Ctrl-C is somebody's wish; all else that stops a run wants it to go on later.
int code_when_stopped(const Terminal& terminal) {
  const int signal = terminal.stop_signal == nullptr ? SIGINT : terminal.stop_signal->load();
  return signal == SIGINT || signal == SIGHUP ? exit_failed : exit_unfinished;
}

/// Scenarios by what their kernel times rest on, the first of each; those without a result do not
/// count.
struct EvidenceCount {
  std::uint64_t scenarios = 0;
  std::uint64_t first = 0;
};
std::map<CostEvidence, EvidenceCount> count_evidence(const ResultsStore& store) {
  std::map<CostEvidence, EvidenceCount> counts;
  const auto& columns = store.columns();
  const auto found = std::ranges::find_if(
      columns, [](const auto& column) { return column.name == "cost_evidence"; });
  if (found == columns.end()) return counts;
  const auto place = static_cast<std::size_t>(found - columns.begin());
  store.for_each([&](std::uint64_t scenario, const std::vector<Cell>& cells) {
    const auto* const word = std::get_if<std::string>(&cells[place]);
    const auto evidence = word == nullptr ? std::nullopt : enum_from<CostEvidence>(*word);
    if (!evidence) return;
    EvidenceCount& count = counts[*evidence];
    if (count.scenarios++ == 0) count.first = scenario;
  });
  return counts;
}

/// Does every scenario have the evidence that is required? Says which has not.
bool has_evidence(const std::string& required,
                  LoadedSweep& sweep,
                  const ResultsStore& store,
                  const Terminal& terminal) {
  const auto counts = count_evidence(store);
  if (counts.size() > 1) {
    std::vector<std::string> words;
    for (const auto& [evidence, count] : counts) {
      words.push_back(
          fmt::format("{} of {}", to_string(evidence), counted(count.scenarios, "scenario")));
    }
    terminal.err << fmt::format("note: kernel times rest on {}; see column cost_evidence\n",
                                fmt::join(words, " and "));
  }
  for (const auto& [evidence, count] : counts) {
    const Scenario scenario = sweep.space.scenario(count.first);
    const std::string lacking = lacking_evidence(required, scenario.problem->problem());
    if (lacking.empty()) continue;
    const std::string axes = sweep.grid.describe(count.first);
    terminal.err << fmt::format("error: --require {}: {}; first: scenario {}{}: {}\n",
                                required,
                                counted(count.scenarios, "scenario"),
                                count.first,
                                axes.empty() ? "" : " (" + axes + ")",
                                lacking);
    return false;
  }
  return true;
}

/// Writes and draws what has been run, and says so.
int finish(const SweepOptions& options,
           LoadedSweep& sweep,
           OutputFolder& folder,
           ResultsStore& store,
           const SweepCounts& counts,
           const Terminal& terminal) {
  const std::filesystem::path& out = folder.path();
  Outcome outcome;
  outcome.counts = counts;
  outcome.digest = write_results_csv(store, sweep.baseline, out / results_csv);
  outcome.files.files = {results_database, results_csv};
  if (sweep.spec.part(Part::variability) != nullptr) {
    write_file_atomically(out / comparisons_csv, table_csv(compare_policies(sweep.grid, store)));
    outcome.files.files.emplace_back(comparisons_csv);
  }
  if (sweep.adaptive && !counts.interrupted) {
    write_file_atomically(out / borders_csv, table_csv(sweep.adaptive->borders()));
    outcome.files.files.emplace_back(borders_csv);
  }
  if (counts.interrupted) {
    say_stopped(options, counts, terminal);
  } else {
    outcome.comparison = draw_sweep({.space = sweep.space,
                                     .spec = sweep.spec,
                                     .store = store,
                                     .baseline = sweep.baseline,
                                     .folder = out,
                                     .timelines = options.timelines,
                                     .adaptive = sweep.adaptive ? &*sweep.adaptive : nullptr,
                                     .sensitivity = !options.no_sensitivity,
                                     .stop = terminal.stop},
                                    outcome.files);
  }
  store.seal();
  folder.publish(!counts.interrupted);
  for (const std::string& notice : outcome.files.notices)
    terminal.err << "note: " << notice << '\n';
  if (options.json) {
    print_json(terminal, options.out, outcome);
  } else {
    print_text(terminal, options.out, sweep.grid, outcome);
  }
  bool near = true;
  if (options.max_gap && !counts.interrupted) {
    const auto gap = largest_gap(sweep.grid, store, sweep.baseline);
    near = gap && 100 * *gap <= *options.max_gap;
    if (!near) {
      terminal.err << (gap ? fmt::format("error: the fastest policy of some case is {:.2f} % over "
                                         "its bound, more than {} %\n",
                                         100 * *gap,
                                         *options.max_gap)
                           : std::string{"error: no case has a bound\n"});
    }
  }
  const bool evident = has_evidence(options.require, sweep, store, terminal);
  if (counts.interrupted) return code_when_stopped(terminal);
  const bool good =
      near && evident && outcome.digest.failed == 0 && outcome.digest.with_findings == 0;
  return good ? exit_done : exit_failed;
}

/// Keeps the rows of a shard, and says what to do with them.
int finish_shard(const SweepOptions& options,
                 const LoadedSweep& sweep,
                 OutputFolder& folder,
                 ResultsStore& store,
                 const SweepCounts& counts,
                 const Terminal& terminal) {
  store.seal();
  folder.publish(!counts.interrupted);
  if (counts.interrupted) say_stopped(options, counts, terminal);
  Outcome outcome;
  outcome.counts = counts;
  outcome.files.files = {results_database};
  if (options.json) {
    print_json(terminal, sweep.request.out.string(), outcome);
  } else {
    print_text(terminal, sweep.request.out.string(), sweep.grid, outcome);
    terminal.out << fmt::format("  shard {}; when all are there: schedlab merge {} {} --out ...\n",
                                sweep.request.shard.name(),
                                options.spec,
                                options.out);
  }
  return counts.interrupted ? code_when_stopped(terminal) : exit_done;
}

/// `link`: to the ranks that work too; nullptr: there are none.
int run_and_finish(const SweepOptions& options,
                   LoadedSweep& sweep,
                   OutputFolder& folder,
                   ResultsStore& store,
                   const Terminal& outside,
                   RankLink* link) {
  const StopAfter limit(outside.stop, options.time_limit);
  Terminal terminal = outside;
  terminal.stop = limit.flag();
  Progress progress(terminal, sweep.request.shard.size(sweep.grid.size()), store.row_count());
  const SweepObserver observer = [&](std::uint64_t done) { progress.update(done); };
  const SweepCounts counts =
      sweep.adaptive    ? run_adaptive(*sweep.adaptive,
                                    sweep.space,
                                    store,
                                    sweep.request,
                                    terminal.stop,
                                    [&](std::uint64_t done, std::uint64_t wanted) {
                                      progress.set_total(wanted);
                                      progress.update(done);
                                    })
      : link == nullptr ? run_scenarios(sweep.space, store, sweep.request, terminal.stop, observer)
                        : run_scenarios_on_ranks(
                              sweep.space, store, sweep.request, *link, terminal.stop, observer);
  progress.finish();
  const int code = sweep.whole() ? finish(options, sweep, folder, store, counts, terminal)
                                 : finish_shard(options, sweep, folder, store, counts, terminal);
  return counts.interrupted && limit.ran_out() ? exit_unfinished : code;
}

/// The same, spread over the ranks of an MPI launcher; files and words are rank 0's.
int sweep_on_ranks(const SweepOptions& options, RankLink& link, const Terminal& terminal) {
  std::optional<LoadedSweep> sweep;
  std::optional<OutputFolder> folder;
  std::optional<ResultsStore> store;
  const bool agreed = ranks_agree(link, terminal, [&] {
    sweep.emplace(options, link.rank() == 0 ? &terminal.err : nullptr);
    refuse_parts(*sweep, "several ranks");
    if (link.rank() != 0) return;
    folder.emplace(sweep_folder(sweep->request), terminal.leftovers);
    store.emplace(sweep->open(*folder));
  });
  if (!agreed) return exit_usage;
  int code = exit_done;
  if (link.rank() == 0) {
    code = run_and_finish(options, *sweep, *folder, *store, terminal, &link);
  } else {
    work_for_rank_0(sweep->space, sweep->request, link, terminal.stop);
  }
  link.barrier();  // the others sleep while rank 0 draws
  return code;
}

void print_batch_script(const SweepOptions& options, const Terminal& terminal) {
  const Spec spec = load_spec(options.spec, &terminal.err);  // better refused now than in the queue
  const Grid grid(spec, reserved_columns(spec));
  if (options.shards == 0) {
    throw InputError({.file = "--submit",
                      .pointer = {},
                      .found = "no number of shards",
                      .expected = "--shards, from 1",
                      .hint = fmt::format("the spec has {}", counted(grid.size(), "scenario"))});
  }
  const std::string command =
      fmt::format("schedlab sweep {} --shard {} --out {} --resume{}{}",
                  quoted_for_shell(options.spec),
                  options.shards,
                  quoted_for_shell(options.out),
                  options.jobs == 0 ? "" : fmt::format(" --jobs {}", options.jobs),
                  options.no_check ? " --no-check" : "");
  terminal.out << batch_script(
      options.submit, options.shards, "schedlab", command, options.time_limit);
}

}  // namespace

int run(const SweepOptions& options, const Terminal& terminal) {
  if (!options.submit.empty()) {
    print_batch_script(options, terminal);
    return exit_done;
  }
  if (launched_ranks().value_or(1) > 1) {
    return run_as_rank(terminal,
                       [&](RankLink& link) { return sweep_on_ranks(options, link, terminal); });
  }
  LoadedSweep sweep(options, &terminal.err);
  if (!options.shard.empty()) refuse_parts(sweep, "--shard");
  OutputFolder folder(sweep_folder(sweep.request), terminal.leftovers);
  ResultsStore store = sweep.open(folder);
  return run_and_finish(options, sweep, folder, store, terminal, nullptr);
}

int run(const MergeOptions& options, const Terminal& terminal) {
  const SweepOptions as_sweep{.spec = options.spec,
                              .out = options.out,
                              .overwrite = options.overwrite,
                              .timelines = options.timelines,
                              .no_sensitivity = options.no_sensitivity,
                              .max_gap = options.max_gap,
                              .require = options.require,
                              .json = options.json};
  LoadedSweep sweep(as_sweep, &terminal.err);
  refuse_parts(sweep, "merge");
  const std::vector<ResultsStore> shards =
      open_shards(options.folders, results_header(sweep.spec, sweep.grid));
  OutputFolder folder(sweep_folder(sweep.request), terminal.leftovers);
  ResultsStore store = sweep.open(folder);
  const SweepCounts counts{.scenarios = sweep.grid.size(), .kept = sweep.grid.size()};
  for (const ResultsStore& shard : shards) copy_rows(shard, store);
  return finish(as_sweep, sweep, folder, store, counts, terminal);
}

}  // namespace schedlab
