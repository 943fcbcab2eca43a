// SPDX-License-Identifier: Apache-2.0
// Stacked LSTMs on an A100 (microsoft/FractalTensor: hidden 256, batch 256): time by depth for a
// wavefront over the layers ("Ours") and for cuDNN. Two structural costs, one per step of the
// simulated wavefront and one per cell, are fitted on depths 2 and 32 at length 64; all other
// depths and lengths are predicted.
#include "hw_models/linear_fit.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/lstm.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

struct Row {
  std::uint32_t depth;
  std::uint32_t length;
  double ms;
};

std::vector<Row> rows_of(const std::vector<testing::CsvRow>& table, const std::string& who) {
  std::vector<Row> rows;
  for (const testing::CsvRow& row : table) {
    if (row.at("impl") != who) continue;
    rows.push_back({static_cast<std::uint32_t>(std::stoul(row.at("depth"))),
                    static_cast<std::uint32_t>(std::stoul(row.at("seq_len"))),
                    std::stod(row.at("time_ms"))});
  }
  return rows;
}

/// Simulated makespan of the depth x length grid, in node times, under a policy.
double node_times(std::uint32_t depth, std::uint32_t length, const char* policy) {
  const testing::Scene scene{testing::gradient_grid(depth, length), 1us};
  return to_us(simulate(scene.problem(), make_policy(policy)->plan(scene.problem())).makespan());
}

/// Steps of the wavefront (each a launch over all cells of a diagonal) and cells.
std::vector<double> features(const Row& row) {
  return {node_times(row.depth, row.length, "diagonal"),
          node_times(row.depth, row.length, "single_stream")};
}

LinearFit fit_depths_2_and_32(const std::vector<Row>& rows) {
  std::vector<FitRow> fitted;
  for (const Row& row : rows) {
    if (row.length == 64 && (row.depth == 2 || row.depth == 32)) {
      fitted.push_back({features(row), row.ms});
    }
  }
  return fit_costs(fitted);
}

/// Largest error over the rows of these depths; all rows are printed.
double largest_error(const std::string& who,
                     const LinearFit& fit,
                     const std::vector<Row>& rows,
                     const std::vector<std::uint32_t>& depths) {
  double largest = 0;
  for (const Row& row : rows) {
    const double predicted = fit.predict(features(row));
    const double error = predicted / row.ms - 1.0;
    MESSAGE(fmt::format("{} depth {} length {}: measured {:.3f}, predicted {:.3f} ms, {:+.1f} %",
                        who,
                        row.depth,
                        row.length,
                        row.ms,
                        predicted,
                        100 * error));
    const bool asked = std::find(depths.begin(), depths.end(), row.depth) != depths.end();
    if (row.length == 64 && asked) largest = std::max(largest, std::abs(error));
  }
  return largest;
}

/// Of an LSTM forward pass as the library runs it, from the machine file alone.
double from_data_sheet(std::uint32_t depth, DataType type, const char* policy_name) {
  const Platform platform = load_machine("a100").platform;
  const auto policy = make_policy(policy_name);
  LstmSpec spec{.layers = std::int64_t{depth}, .steps = 64, .batch = 256, .hidden = 256};
  spec.pass = LstmPass::forward;
  spec.granularity = policy->granularity();
  spec.type = type;
  const TaskGraph graph = lstm(spec);
  const CostTable costs{graph, platform, *make_cost_model(default_cost_model)};
  const Problem problem{graph, platform, costs};
  return to_us(simulate(problem, policy->plan(problem)).makespan()) / 1e3;
}

}  // namespace

TEST_CASE("a wavefront fitted on depths 2 and 32 predicts 4, 8 and 16 within 5 %") {
  const auto path = testing::reference_data("fractaltensor/lstm_measured.csv");
  if (!path) return;
  const std::vector<testing::CsvRow> table = testing::read_csv(*path);
  const std::vector<Row> ours = rows_of(table, "Ours");
  const std::vector<Row> cudnn = rows_of(table, "CuDNN");
  const LinearFit our_fit = fit_depths_2_and_32(ours);
  const LinearFit cudnn_fit = fit_depths_2_and_32(cudnn);
  MESSAGE(fmt::format("Ours: {:.2f} us per wavefront step, {:.3f} us per cell",
                      1e3 * our_fit.coefficients[0],
                      1e3 * our_fit.coefficients[1]));
  MESSAGE(fmt::format("cuDNN: {:.2f} us per wavefront step, {:.3f} us per cell",
                      1e3 * cudnn_fit.coefficients[0],
                      1e3 * cudnn_fit.coefficients[1]));
  const double our_error = largest_error("Ours", our_fit, ours, {4, 8, 16});
  const double cudnn_error = largest_error("cuDNN", cudnn_fit, cudnn, {4, 8, 16});
  MESSAGE(fmt::format("largest error, depths 4, 8, 16: Ours {:.1f} %, cuDNN {:.1f} %",
                      100 * our_error,
                      100 * cudnn_error));
  CHECK(our_error < 0.05);
  CHECK(cudnn_error < 0.10);  // misses 5 % at depth 4: docs/external_comparisons.md

  // The wavefront wins from a depth between 4 and 8 on, measured and predicted.
  const auto predicted = [](const LinearFit& fit, std::uint32_t depth) {
    return fit.predict(features({depth, 64, 0}));
  };
  CHECK(predicted(our_fit, 4) > predicted(cudnn_fit, 4));
  CHECK(predicted(our_fit, 8) < predicted(cudnn_fit, 8));
}

TEST_CASE("cuDNN's stacked LSTM on an A100 from the machine file alone") {
  const auto path = testing::reference_data("fractaltensor/lstm_measured.csv");
  if (!path) return;
  // A cell is 2 x 256 x 1024 x 512 FLOP: 13.8 us at the fp32 peak of 19.5 TFLOP/s. The measured 7.8
  // us per cell can only come from the matrix units: tf32.
  const Device a100 = load_machine("a100").platform.devices[DeviceId{0}];
  const double fp32_peak = a100.rates.matrix[static_cast<std::size_t>(DataType::fp32)].count();
  testing::Errors errors;
  for (const Row& row : rows_of(testing::read_csv(*path), "CuDNN")) {
    if (row.length != 64) continue;
    const double cells = 64.0 * row.depth;
    if (row.depth > 2) CHECK(cells * 2 * 256 * 1024 * 512 / fp32_peak > 1e-3 * row.ms);
    const double predicted = from_data_sheet(row.depth, DataType::tf32, "cudnn_like");
    errors.add(predicted, row.ms);
    MESSAGE(fmt::format("cudnn_like, tf32, depth {}: measured {:.3f}, predicted {:.3f} ms",
                        row.depth,
                        row.ms,
                        predicted));
  }
  MESSAGE(fmt::format("cudnn_like, tf32: {}", errors.summary()));
  CHECK(errors.median() < 0.5);
}

}  // namespace schedlab
