// SPDX-License-Identifier: Apache-2.0
// Training of GPTs on 2 to 8 A100: layer times fitted on runs without a pipeline, runs of two
// stages predicted by simulation.
#include "hw_models/linear_fit.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/pipeline/partition_profile.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "tests/comparisons/vtrain_runs.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using testing::read_vtrain_runs;
using testing::TrainingRun;

/// Measured all-reduces of one node, between sizes and beyond them along straight lines.
class AllReduces {
 public:
  [[nodiscard]] static std::optional<AllReduces> read() {
    AllReduces all;
    for (const std::int64_t ranks : {2, 4, 8}) {
      const auto path = testing::reference_data(
          fmt::format("vtrain/allreduce_lut/a100_AR_GPU{}_1M_1024M_LUT.txt", ranks));
      if (!path) return std::nullopt;
      for (const testing::CsvRow& row : testing::read_csv(*path)) {
        all.ms_[ranks].emplace_back(std::stod(row.at("size(B)")),
                                    std::stod(row.at("time(ns)")) / 1e6);
      }
      std::sort(all.ms_[ranks].begin(), all.ms_[ranks].end());
    }
    return all;
  }

  [[nodiscard]] double ms(std::int64_t ranks, double bytes) const {
    if (ranks < 2) return 0;
    const auto& points = ms_.at(ranks);
    auto above = std::lower_bound(points.begin() + 1, points.end() - 1, std::pair{bytes, 0.0});
    const auto [x0, y0] = *(above - 1);
    const auto [x1, y1] = *above;
    return y0 + (y1 - y0) * (bytes - x0) / (x1 - x0);
  }

 private:
  std::map<std::int64_t, std::vector<std::pair<double, double>>> ms_;
};

/// What is fitted: ms of a layer, and of all else, per microbatch; factor of the all-reduce; ms of
/// the update per byte of parameters.
struct CellCosts {
  double layer = 0;
  double rest = 0;
  double all_reduce = 0;
  double update = 0;
};

using Runs = std::vector<const TrainingRun*>;

/// The end of a batch: update and all-reduce, which do not depend on the microbatch.
double end_of_batch(const TrainingRun& run,
                    std::int64_t layers,
                    const CellCosts& costs,
                    const AllReduces& all_reduces) {
  const double bytes = run.parameter_bytes(layers);
  return costs.update * bytes + costs.all_reduce * all_reduces.ms(run.data_parallel, bytes);
}

/// All costs, on runs that differ in their number of microbatches and layers.
CellCosts fit_all(const Runs& runs, const AllReduces& all_reduces) {
  constexpr double giga = 1e9;  // so that features are of like size
  // With one degree of data parallelism the all-reduce cannot be told from the update.
  const bool reduced = std::any_of(runs.begin(), runs.end(), [&](const TrainingRun* run) {
    return run->data_parallel != runs.front()->data_parallel;
  });
  std::vector<FitRow> rows;
  for (const TrainingRun* run : runs) {
    const double bytes = run->parameter_bytes(run->layers);
    const auto microbatches = static_cast<double>(run->microbatches());
    FitRow row{{microbatches * static_cast<double>(run->layers), microbatches, bytes / giga},
               run->measured};
    if (reduced) row.features.push_back(all_reduces.ms(run->data_parallel, bytes));
    rows.push_back(std::move(row));
  }
  const LinearFit fit = fit_costs(rows);
  return {.layer = fit.coefficients[0],
          .rest = fit.coefficients[1],
          .all_reduce = reduced ? fit.coefficients[3] : 0.0,
          .update = fit.coefficients[2] / giga};
}

/// Costs of another size of microbatch, whose batches end as those of `other`: of the largest
/// microbatches every run has two, so that the end of a batch cannot be told from the layers.
CellCosts fit_layers(const Runs& runs, CellCosts other, const AllReduces& all_reduces) {
  std::vector<FitRow> rows;
  for (const TrainingRun* run : runs) {
    const auto microbatches = static_cast<double>(run->microbatches());
    rows.push_back({{microbatches * static_cast<double>(run->layers), microbatches},
                    run->measured - end_of_batch(*run, run->layers, other, all_reduces)});
  }
  const LinearFit fit = fit_costs(rows);
  other.layer = fit.coefficients[0];
  other.rest = fit.coefficients[1];
  return other;
}

/// The model as layers: blocks, then classifier and loss, which are nearly all of the rest (the
/// lookup of words is none of the work). A third of the time is forward.
LayerGraph gpt_layers(const TrainingRun& run, const CellCosts& costs) {
  LayerGraph graph;
  graph.name = "gpt";
  graph.samples = run.samples;
  const auto add = [&](const std::string& name, double ms) {
    const auto part = [&](double share) {
      return graph.operations.push_back({.name = name,
                                         .kind = TaskKind::fixed,
                                         .task_class = TaskClass::unclassified,
                                         .kernels = {},
                                         .fixed_duration = from_us(1000 * share * ms)});
    };
    Layer layer;
    layer.name = name;
    layer.forward = part(1.0 / 3);  // assumed; a whole microbatch counts
    layer.backward_data = part(1.0 / 3);
    layer.backward_weight = part(1.0 / 3);
    if (!graph.layers.empty()) {
      layer.inputs = {LayerId{static_cast<std::uint32_t>(graph.layers.size() - 1)}};
    }
    graph.layers.push_back(std::move(layer));
  };
  for (std::int64_t i = 0; i < run.layers; ++i) add(fmt::format("block_{}", i), costs.layer);
  add("logits", costs.rest);
  return graph;
}

/// Two stages under 1F1B, and at the end of the batch what each takes then.
Duration simulate_two_stages(PipelineProfile profile,
                             const TrainingRun& run,
                             const std::array<Duration, 2>& last) {
  for (std::size_t stage = 0; stage < 2; ++stage) profile.stages[stage].update = last[stage];
  PipelineSpec spec;
  spec.profile = std::move(profile);
  spec.microbatches = run.microbatches();
  spec.batch = run.microbatches() * run.samples;
  const TaskGraph graph = pipeline_graph(spec);
  Platform platform = ideal_platform();
  platform.ranks = graph.rank_count();
  const CostTable table{graph, platform};
  const Problem problem{graph, platform, table};
  return simulate(problem, make_policy("pipeline_1f1b")->plan(problem)).makespan();
}

double predict_ms(const TrainingRun& run, const CellCosts& costs, const AllReduces& all_reduces) {
  const LayerGraph graph = gpt_layers(run, costs);
  const auto times = layer_times(graph);
  const Partition cut =
      make_partition(graph,
                     times,
                     consecutive_stages(graph, {run.layers / 2, run.layers - run.layers / 2 + 1}),
                     {},
                     {});
  // Each stage holds half of the layers and the word vectors.
  const Duration last = from_us(1000 * end_of_batch(run, run.layers / 2, costs, all_reduces));
  return to_us(simulate_two_stages(partition_profile(graph, times, cut), run, {last, last})) / 1000;
}

TEST_CASE(
    "GPT on A100: fitted without a pipeline, two stages follow better than by the bubble formula") {
  const auto path = testing::reference_data("vtrain/ground_truth_single.csv");
  if (!path) return;
  const std::optional<AllReduces> all_reduces = AllReduces::read();
  if (!all_reduces) return;
  const std::vector<TrainingRun> runs = read_vtrain_runs(*path);
  std::map<TrainingRun::Cell, Runs> without;
  std::map<TrainingRun::Setup, double> measured_without;
  for (const TrainingRun& run : runs) {
    if (run.stages != 1) continue;
    without[run.cell()].push_back(&run);
    measured_without[run.setup()] = run.measured;
  }
  std::map<TrainingRun::Cell, CellCosts> costs;
  for (const auto& [cell, rows] : without) {
    const auto& [tensor_parallel, hidden, samples] = cell;
    if (samples > 1) {
      costs[cell] = fit_layers(rows, costs.at({tensor_parallel, hidden, 1}), *all_reduces);
    } else {
      costs[cell] = fit_all(rows, *all_reduces);
    }
  }

  testing::Errors simulated;
  testing::Errors formula;
  testing::Errors all;
  for (const TrainingRun& run : runs) {
    if (run.stages != 2 || !costs.contains(run.cell())) continue;
    const double predicted = predict_ms(run, costs.at(run.cell()), *all_reduces);
    all.add(predicted, run.measured);
    const auto pair = measured_without.find(run.setup());
    if (pair == measured_without.end()) continue;
    simulated.add(predicted, run.measured);
    // The plain formula: M microbatches on S = 2 stages take (M + S - 1) / (M S) of the time on
    // one.
    const auto m = static_cast<double>(run.microbatches());
    formula.add(pair->second * (m + 1) / (2 * m), run.measured);
  }
  MESSAGE("simulated:     " << simulated.summary());
  MESSAGE("plain formula: " << formula.summary());
  MESSAGE("simulated, with runs that have no counterpart without a pipeline: " << all.summary());
  REQUIRE(simulated.count() > 100);
  CHECK(simulated.median() <= 0.025);
  CHECK(simulated.quantile(0.9) < formula.quantile(0.9));
  CHECK(simulated.median() < formula.median());
}

}  // namespace
}  // namespace schedlab
