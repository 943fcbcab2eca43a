// SPDX-License-Identifier: Apache-2.0
// Recurrent layers of a public benchmark (baidu-research/DeepBench, FP32 training rows of P100 and
// V100): one layer, the input product left out, many calls one after another. The layer is
// simulated as the plain algorithm, a matrix product and a point-wise kernel per step on one
// stream, from the machine file alone: every row is held out.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/row_kernels.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace schedlab {
namespace {

struct Layer {
  std::int64_t gates;  ///< matrices of hidden x hidden side by side
  std::int64_t hidden;
  std::int64_t batch;
  std::int64_t steps;
};

std::int64_t gates_of(const std::string& cell) {
  return cell == "lstm" ? 4 : cell == "gru" ? 3 : 1;
}

Kernel cell_kernel(const Layer& layer, std::int64_t read, std::int64_t written, double flops) {
  const std::int64_t elements = layer.batch * layer.hidden;
  Kernel kernel = pointwise_kernel(elements, 1, flops, DataType::fp32);
  kernel.bytes_read = Bytes{4 * elements * read};
  kernel.bytes_written = Bytes{4 * elements * written};
  return kernel;
}

/// A product and a cell per step (forward), or a cell and a product (backward), in a chain.
TaskGraph chain(const Layer& layer, bool forward) {
  TaskGraphBuilder builder;
  const std::int64_t wide = layer.gates * layer.hidden;
  const OperationId product = builder.add_operation(
      {.name = "product",
       .kind = TaskKind::gemm,
       .kernels = {forward ? gemm_kernel(layer.batch, wide, layer.hidden, DataType::fp32, false)
                           : gemm_kernel(layer.batch, layer.hidden, wide, DataType::fp32, false)}});
  // Reads both pre-activations and the state, writes gates and state; about 5 FLOP per gate.
  const OperationId cell =
      builder.add_operation({.name = "cell",
                             .kind = TaskKind::pointwise,
                             .kernels = {cell_kernel(layer,
                                                     2 * layer.gates + 1,
                                                     layer.gates + (layer.gates > 1 ? 2 : 0),
                                                     5.0 * static_cast<double>(layer.gates))}});
  const TensorId weights = builder.add_tensor(
      {.name = "W", .bytes = Bytes{4 * wide * layer.hidden}, .persistent = true});
  TaskId before;
  for (std::int64_t i = 0; i < 2 * layer.steps; ++i) {
    const bool is_product = (i % 2 == 0) == forward;
    const TaskId task = builder.add_task(is_product ? product : cell);
    if (is_product) builder.reads(task, weights);
    if (i > 0) builder.add_edge(before, task);
    before = task;
  }
  return std::move(builder).build();
}

/// All steps in one product.
TaskGraph weight_gradient(const Layer& layer) {
  TaskGraphBuilder builder;
  builder.add_task(builder.add_operation({.name = "weights",
                                          .kind = TaskKind::gemm,
                                          .kernels = {gemm_kernel(layer.gates * layer.hidden,
                                                                  layer.hidden,
                                                                  layer.steps * layer.batch,
                                                                  DataType::fp32,
                                                                  true)}}));
  return std::move(builder).build();
}

double simulated_ms(const TaskGraph& graph, const Platform& platform) {
  const CostTable costs{graph, platform, *make_cost_model(default_cost_model)};
  const Problem problem{graph, platform, costs};
  return to_us(simulate(problem, make_policy("single_stream")->plan(problem)).makespan()) / 1e3;
}

/// The published P100 rows of batch 32 use a slower algorithm than those of batch 64; apart.
bool slow_algorithm(const testing::CsvRow& row) {
  return row.at("device") == "NV_P100" && row.at("batch") == "32";
}

}  // namespace

TEST_CASE("recurrent layers of P100 and V100 from their machine files") {
  const auto path = testing::reference_data("deepbench/rnn.csv");
  if (!path) return;
  const std::vector<testing::CsvRow> rows = testing::read_csv(*path);
  for (const auto& [device, machine] :
       {std::pair{"NV_P100", "p100"}, std::pair{"NV_V100", "v100"}}) {
    const Platform platform = load_machine(machine).platform;
    std::map<std::string, testing::Errors> errors;
    for (const testing::CsvRow& row : rows) {
      if (row.at("device") != device || row.at("precision") != "FP32") continue;
      const Layer layer{gates_of(row.at("cell")),
                        std::stoll(row.at("hidden")),
                        std::stoll(row.at("batch")),
                        std::stoll(row.at("timesteps"))};
      const std::string kind = row.at("cell") + (slow_algorithm(row) ? " (batch 32)" : "");
      const auto compare = [&](const char* pass, const char* column, const TaskGraph& graph) {
        if (row.at(column).empty()) return;
        const double measured = std::stod(row.at(column));
        const double predicted = simulated_ms(graph, platform);
        errors[fmt::format("{} {}", kind, pass)].add(predicted, measured);
        if (std::getenv("SCHEDLAB_VERBOSE") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
          MESSAGE(fmt::format("{} {} {} hidden {} batch {} steps {}: {:.3f} of {:.3f} ms",
                              machine,
                              kind,
                              pass,
                              layer.hidden,
                              layer.batch,
                              layer.steps,
                              predicted,
                              measured));
        }
      };
      compare("forward", "fwd_ms", chain(layer, true));
      compare("data gradient", "bwd_inputs_ms", chain(layer, false));
      compare("weight gradient", "bwd_weights_ms", weight_gradient(layer));
    }
    CHECK(errors.size() >= 9);
    for (const auto& [kind, error] : errors) {
      MESSAGE(fmt::format("{}, {}: {}", machine, kind, error.summary()));
      CAPTURE(kind);
      // Lost touch with the device: more than twice, or less than half, in the median.
      if (kind.find("batch 32") == std::string::npos) CHECK(error.median() < 1.0);
    }
  }
}

}  // namespace schedlab
