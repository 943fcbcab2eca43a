// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/reproduction.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/epoch_sensitivity.hpp"
#include "studies/reproduction/engine_study.hpp"
#include "studies/reproduction/recorded_runs.hpp"
#include "studies/reproduction/samples.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr const char* grids_folder = "grids";

/// Messages name the system's file and the grid.
std::string label_of(const PublishedSystem& system, const SystemGrid& source) {
  return fmt::format("{}: grid {}", system.file, source.name);
}

/// Everything a sweep needs, in the order in which it refers to each other.
struct SweepJob {
  SweepJob(const PublishedSystem& system, const SystemGrid& source, bool quick)
      : spec(parsed(system, source, quick)), grid(spec, reserved()), space(spec, grid) {
    space.components().check_all();
  }

  /// Published are the runs of policies as each cuts the workload.
  [[nodiscard]] static Spec parsed(const PublishedSystem& system,
                                   const SystemGrid& source,
                                   bool quick) {
    Spec spec = parse_spec(quick ? source.quick_spec : source.spec, label_of(system, source));
    spec.like_for_like = false;
    return spec;
  }

  [[nodiscard]] static std::vector<std::string> reserved() {
    std::vector<std::string> names = result_column_names(true);
    names.insert(names.end(), {"scenario", "speed_up"});
    return names;
  }

  Spec spec;
  Grid grid;
  ScenarioSpace space;
};

/// What a grid needs, by its kind.
struct GridJob {
  GridJob(const PublishedSystem& system, const SystemGrid& source, bool quick) {
    const std::string& spec = quick ? source.quick_spec : source.spec;
    switch (source.kind) {
      case GridKind::passes:
        passes = std::make_unique<BucketSpec>(parse_bucket_spec(spec, label_of(system, source)));
        resolve_batches(*passes);
        break;
      case GridKind::engine_study:
        engine =
            std::make_unique<EngineStudySpec>(parse_engine_study(spec, label_of(system, source)));
        break;
      case GridKind::recorded:
        recorded = parse_recorded_runs(spec, label_of(system, source));
        break;
      case GridKind::sweep:
        sweep = std::make_unique<SweepJob>(system, source, quick);
        break;
    }
  }
  [[nodiscard]] std::uint64_t size() const {
    if (recorded) return recorded->rows.size();
    if (passes != nullptr) return row_count(*passes);
    return engine != nullptr ? simulation_count(*engine) : sweep->grid.size();
  }

  std::unique_ptr<SweepJob> sweep;
  std::unique_ptr<BucketSpec> passes;
  BucketStudy study;  // of passes, once they are run; a row of it is one of the table
  std::unique_ptr<EngineStudySpec> engine;
  std::optional<Table> recorded;
};

/// The columns of the results, and the values that occur in those of axes.
struct GridColumns {
  explicit GridColumns(const GridJob& job) {
    if (job.recorded) {
      columns = job.recorded->columns;
      values = recorded_axis_values(*job.recorded);
    } else if (job.passes != nullptr) {
      columns = bucket_columns();
      values = bucket_axis_values(*job.passes);
    } else if (job.engine != nullptr) {
      columns = engine_columns();
      values = engine_axis_values(*job.engine);
    } else {
      of_sweep(job.sweep->grid);
    }
  }

  void of_sweep(const Grid& grid) {
    columns.push_back({"scenario", ColumnRole::note});
    for (const AxisColumn& axis : grid.axes()) columns.push_back({axis.name, ColumnRole::axis});
    const bool sampled = grid.part_value(Part::variability, 0).has_value();
    for (const ResultColumn& column : result_columns({.sampled = sampled})) {
      columns.push_back({column.name, ColumnRole::metric});
    }
    values.resize(columns.size());
    for (std::uint64_t scenario = 0; scenario < grid.size(); ++scenario) {
      const std::vector<Cell> cells = grid.axis_values(scenario);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        std::vector<Cell>& known = values[i + 1];
        if (cells[i].index() == 0) continue;
        if (std::find(known.begin(), known.end(), cells[i]) == known.end()) {
          known.push_back(cells[i]);
        }
      }
    }
  }

  std::vector<Column> columns;
  std::vector<std::vector<Cell>> values;
};

std::string database_of(const SystemGrid& source) {
  return fmt::format("{}/{}/{}", grids_folder, source.name, results_database);
}

GridResult run_sweep(const SystemGrid& source,
                     SweepJob& job,
                     const ReproductionRequest& request,
                     const OutputFolder& folder,
                     const StopFlag* stop,
                     const SweepObserver& observer,
                     bool& interrupted) {
  GridResult result;
  result.name = source.name;
  result.scenarios = job.grid.size();
  const SweepRequest sweep{
      .out = {}, .jobs = request.jobs, .check = job.spec.check && request.check};
  const fs::path file = folder.target() / database_of(source);
  make_folder(file.parent_path());
  ResultsStore store = open_results(job.spec, job.grid, file, folder.resumes() && fs::exists(file));
  const SweepCounts counts = run_scenarios(job.space, store, sweep, stop, observer);
  interrupted = interrupted || counts.interrupted;
  const fs::path staged = folder.path() / grids_folder / source.name;
  make_folder(staged);
  const ResultsDigest digest = write_results_csv(store, std::nullopt, staged / results_csv);
  result.done = digest.rows;
  result.failed = digest.failed;
  result.with_findings = digest.with_findings;
  result.first_note = digest.first_note;
  result.table = results_table(store, std::nullopt, std::numeric_limits<std::uint64_t>::max());
  store.seal();
  return result;
}

/// What takes seconds, so that nothing of it is kept for --resume.
GridResult run_study(const SystemGrid& source,
                     GridJob& job,
                     const OutputFolder& out,
                     const StopFlag* stop,
                     const SweepObserver& observer,
                     bool& interrupted) {
  GridResult result;
  result.name = source.name;
  result.scenarios = job.size();
  try {
    if (job.recorded) {
      result.table = *job.recorded;
    } else if (job.passes != nullptr) {
      job.study = run_bucket_study(
          *job.passes, stop, [&](std::uint64_t done, std::uint64_t) { observer(done); });
      if (!job.study.complete) throw Interrupted("stopped");
      result.table = bucket_table(job.study);
    } else {
      result.table = run_engine_study(*job.engine, stop, observer);
    }
    result.done = job.size();
    const fs::path folder = out.path() / grids_folder / source.name;
    make_folder(folder);
    write_file_atomically(folder / results_csv, table_csv(result.table));
  } catch (const Interrupted&) {
    interrupted = true;
  }
  return result;
}

const Table& table_of(const Reproduction& all, const std::string& grid) {
  static const Table nothing;
  const auto found = std::find_if(all.grids.begin(), all.grids.end(), [&](const GridResult& each) {
    return each.name == grid;
  });
  return found == all.grids.end() ? nothing : found->table;
}

/// Does a row of this grid have a time, or a rate, that follows from simulated times?
bool is_of_times(const Measure& measure) {
  static const std::vector<std::string> metrics{"makespan_us", "epoch_s", "sequences_per_s"};
  return (measure.kind == Measure::Kind::value || measure.kind == Measure::Kind::ratio) &&
         std::find(metrics.begin(), metrics.end(), measure.metric) != metrics.end();
}

/// Makes runs again on machines that differ in one number.
class RunsAgain {
 public:
  RunsAgain(const PublishedSystem& system,
            const SystemGrid& source,
            const GridJob* job,  // of passes; of sweeps it is made again
            bool quick,
            const StopFlag* stop)
      : source_(source), job_(job), stop_(stop) {
    if (source.kind == GridKind::sweep) sweep_ = std::make_unique<SweepJob>(system, source, quick);
  }

  /// nullopt: too large, or of several machines.
  [[nodiscard]] std::optional<Sensitivity> of(const Table& table,
                                              const std::vector<std::size_t>& rows) const {
    if (source_.kind == GridKind::passes) {
      const auto has_models = [this](std::size_t row) {
        return !job_->study.rows[row].boundaries.empty();
      };
      if (!std::all_of(rows.begin(), rows.end(), has_models)) return std::nullopt;
      return epoch_sensitivity(job_->study, rows, stop_);
    }
    std::vector<std::uint64_t> scenarios;
    const std::size_t tasks = column_index(table, "tasks");
    for (const std::size_t row : rows) {
      if (*cell_number(table.rows[row][tasks]) > max_sensitivity_tasks) return std::nullopt;
      scenarios.push_back(scenario_of(table, row));
      const auto machine = [&](std::uint64_t each) {
        return sweep_->grid.part_index(each, Part::machine);
      };
      if (machine(scenarios.back()) != machine(scenarios.front())) return std::nullopt;
    }
    return sensitivity(sweep_->spec,
                       sweep_->grid,
                       scenarios,
                       {.most_delicate = most_delicate_numbers, .stop = stop_});
  }

 private:
  const SystemGrid& source_;
  const GridJob* job_;
  const StopFlag* stop_;
  std::unique_ptr<SweepJob> sweep_;
};

/// Of the numbers that have an error, largest first, the first whose runs can be made again: those
/// of the sample closest to the median.
std::optional<OutcomeSensitivity> furthest_sensitivity(
    const Reproduction& all,
    const std::vector<std::unique_ptr<GridJob>>& jobs,
    const StopFlag* stop) {
  std::vector<std::size_t> outcomes;
  for (std::size_t i = 0; i < all.outcomes.size(); ++i) {
    const Outcome& outcome = all.outcomes[i];
    if (outcome.error && *outcome.error != 0 && is_of_times(outcome.claim->measure)) {
      outcomes.push_back(i);
    }
  }
  std::stable_sort(outcomes.begin(), outcomes.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(*all.outcomes[a].error) > std::abs(*all.outcomes[b].error);
  });
  for (const std::size_t each : outcomes) {
    const Outcome& outcome = all.outcomes[each];
    const auto grid = std::find_if(
        all.system->grids.begin(), all.system->grids.end(), [&](const SystemGrid& one) {
          return one.name == outcome.claim->grid;
        });
    if (grid == all.system->grids.end() ||
        (grid->kind != GridKind::sweep && grid->kind != GridKind::passes)) {
      continue;
    }
    const Table& table = table_of(all, grid->name);
    std::vector<ClaimSample> samples =
        collect_samples(table, measure_at(*outcome.claim, *outcome.point), outcome.point->at)
            .samples;
    const double median = outcome.simulated.median;
    std::stable_sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) {
      return std::abs(a.value - median) < std::abs(b.value - median);
    });
    const auto job = static_cast<std::size_t>(grid - all.system->grids.begin());
    const RunsAgain again(*all.system, *grid, jobs[job].get(), all.quick, stop);
    for (const ClaimSample& sample : samples) {
      if (auto found = again.of(table, sample.rows)) {
        return OutcomeSensitivity{
            .outcome = each, .value = sample.value, .of_runs = std::move(*found)};
      }
      if (grid->kind == GridKind::passes) break;  // others are as large
    }
  }
  return std::nullopt;
}

}  // namespace

std::size_t Reproduction::count(ClaimStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [status](const Outcome& outcome) {
        return outcome.status == status;
      }));
}

std::size_t Reproduction::count(Evidence evidence, ClaimStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
        return outcome.status == status && outcome.point->evidence == evidence &&
               outcome.point->repeats.empty();
      }));
}

void check_system(const PublishedSystem& system) {
  for (const SystemGrid& source : system.grids) {
    static_cast<void>(GridJob{system, source, true});
    const GridJob job{system, source, false};
    const GridColumns columns{job};
    for (const Claim& claim : system.claims) {
      if (claim.grid == source.name) check_claim(system, claim, columns.columns, columns.values);
    }
  }
}

FolderRequest reproduction_folder(const PublishedSystem& system,
                                  const ReproductionRequest& request) {
  FolderUse use = request.overwrite ? FolderUse::overwrite : FolderUse::fresh;
  if (request.resume) use = FolderUse::resume;
  FolderRequest folder{
      .target = request.out, .verb = "reproduce", .use = use, .in_place = true, .growing = {}};
  for (const SystemGrid& source : system.grids) {
    if (source.kind == GridKind::sweep) folder.growing.push_back(database_of(source));
  }
  return folder;
}

Reproduction reproduce(const PublishedSystem& system,
                       const ReproductionRequest& request,
                       OutputFolder& folder,
                       const StopFlag* stop,
                       const ReproductionObserver& observer) {
  check_system(system);
  std::vector<std::unique_ptr<GridJob>> jobs;
  std::uint64_t total = 0;
  for (const SystemGrid& source : system.grids) {
    jobs.push_back(std::make_unique<GridJob>(system, source, request.quick));
    total += jobs.back()->size();
  }
  folder.begin();
  Reproduction all;
  all.system = &system;
  all.quick = request.quick;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < jobs.size() && !stop_requested(stop); ++i) {
    const auto advance = [&](std::uint64_t done) { observer(before + done, total); };
    GridJob& job = *jobs[i];
    all.grids.push_back(
        job.sweep == nullptr
            ? run_study(system.grids[i], job, folder, stop, advance, all.interrupted)
            : run_sweep(
                  system.grids[i], *job.sweep, request, folder, stop, advance, all.interrupted));
    before += job.size();
    if (job.sweep != nullptr) jobs[i].reset();  // its problems take memory
  }
  all.interrupted = all.interrupted || all.grids.size() < jobs.size();
  for (const Claim& claim : system.claims) {
    const Table& table = table_of(all, claim.grid);
    const bool ran = !table.columns.empty() || !claim.no_answer.empty();
    for (const PublishedPoint& point : claim.published) {
      Outcome outcome;
      outcome.claim = &claim;
      outcome.point = &point;
      all.outcomes.push_back(ran ? compare(claim, point, table) : outcome);
    }
  }
  try {
    if (!all.interrupted) all.sensitivity = furthest_sensitivity(all, jobs, stop);
  } catch (const Interrupted&) {
    all.interrupted = true;
  }
  return all;
}

}  // namespace schedlab
