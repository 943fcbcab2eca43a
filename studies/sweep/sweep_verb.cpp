// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/progress.hpp"
#include "studies/base/rank_process.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/speed_up.hpp"
#include "studies/sweep/sweep_pictures.hpp"
#include "studies/sweep/sweep_ranks.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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
                const SweepOptions& options,
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
  terminal.out << fmt::format("\n  {}: {}\n", options.out, fmt::join(outcome.files.files, ", "));
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

void print_json(const Terminal& terminal, const SweepOptions& options, const Outcome& outcome) {
  const SweepCounts& counts = outcome.counts;
  const nlohmann::ordered_json summary{{"verb", "sweep"},
                                       {"out", options.out},
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

/// A sweep as its options and spec say, checked.
struct LoadedSweep {
  LoadedSweep(const SweepOptions& options, std::ostream* notes)
      : spec(load_spec(options.spec, notes)),
        grid(spec, reserved_columns(spec)),
        baseline(Baseline::of(spec, grid)),
        space(spec, grid),
        request{.out = options.out,
                .jobs = options.jobs,
                .resume = options.resume,
                .overwrite = options.overwrite,
                .check = spec.check && !options.no_check} {
    space.components().check_all();
  }

  Spec spec;
  Grid grid;
  std::optional<Baseline> baseline;
  ScenarioSpace space;
  SweepRequest request;
};

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
  if (counts.interrupted) {
    terminal.err << fmt::format(
        "stopped after {} of {} scenarios; they are kept\n  go on with: schedlab sweep {} --out {} "
        "--resume\n",
        counts.kept + counts.ran,
        counts.scenarios,
        options.spec,
        options.out);
  } else {
    outcome.comparison = draw_sweep({.space = sweep.space,
                                     .spec = sweep.spec,
                                     .store = store,
                                     .baseline = sweep.baseline,
                                     .folder = out,
                                     .timelines = options.timelines,
                                     .stop = terminal.stop},
                                    outcome.files);
  }
  store.seal();
  folder.publish(!counts.interrupted);
  for (const std::string& notice : outcome.files.notices)
    terminal.err << "note: " << notice << '\n';
  if (options.json) {
    print_json(terminal, options, outcome);
  } else {
    print_text(terminal, options, sweep.grid, outcome);
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
  const bool good = near && !counts.interrupted && outcome.digest.failed == 0 &&
                    outcome.digest.with_findings == 0;
  return good ? exit_done : exit_failed;
}

/// The same, spread over the ranks of an MPI launcher; files and words are rank 0's.
int sweep_on_ranks(const SweepOptions& options, RankLink& link, const Terminal& terminal) {
  std::optional<LoadedSweep> sweep;
  std::optional<OutputFolder> folder;
  std::optional<ResultsStore> store;
  const bool agreed = ranks_agree(link, terminal, [&] {
    sweep.emplace(options, link.rank() == 0 ? &terminal.err : nullptr);
    if (link.rank() != 0) return;
    folder.emplace(sweep_folder(sweep->request), terminal.leftovers);
    store.emplace(open_results(sweep->spec, sweep->grid, *folder));
  });
  if (!agreed) return exit_usage;
  int code = exit_done;
  if (link.rank() == 0) {
    Progress progress(terminal, sweep->grid.size(), store->row_count());
    const SweepCounts counts = run_scenarios_on_ranks(
        sweep->space, *store, sweep->request, link, terminal.stop, [&](std::uint64_t done) {
          progress.update(done);
        });
    progress.finish();
    code = finish(options, *sweep, *folder, *store, counts, terminal);
  } else {
    work_for_rank_0(sweep->space, sweep->request, link, terminal.stop);
  }
  link.barrier();  // the others sleep while rank 0 draws
  return code;
}

}  // namespace

int run(const SweepOptions& options, const Terminal& terminal) {
  if (launched_ranks().value_or(1) > 1) {
    return run_as_rank(terminal,
                       [&](RankLink& link) { return sweep_on_ranks(options, link, terminal); });
  }
  LoadedSweep sweep(options, &terminal.err);
  OutputFolder folder(sweep_folder(sweep.request), terminal.leftovers);
  ResultsStore store = open_results(sweep.spec, sweep.grid, folder);
  Progress progress(terminal, sweep.grid.size(), store.row_count());
  const SweepCounts counts =
      run_scenarios(sweep.space, store, sweep.request, terminal.stop, [&](std::uint64_t done) {
        progress.update(done);
      });
  progress.finish();
  return finish(options, sweep, folder, store, counts, terminal);
}

}  // namespace schedlab
