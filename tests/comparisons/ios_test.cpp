// SPDX-License-Identifier: Apache-2.0
// Does running all ready operators side by side pay? Ding et al., IOS (MLSys 2021) measured on a
// V100 at batch 1 in FP32: greedy stages win on Inception-v3 and lose on SqueezeNet. Here both are
// simulated from the machine file alone.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/comparisons/conv_net.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

struct Latency {
  double sequential = 0;
  double greedy = 0;
  double greedy_events = 0;

  [[nodiscard]] double gain() const { return sequential / greedy; }
};

double simulated_ms(const TaskGraph& graph,
                    const Platform& platform,
                    const char* policy,
                    const std::map<std::string, OptionValue>& options = {}) {
  const CostTable costs{graph, platform, *make_cost_model(default_cost_model)};
  const Problem problem{graph, platform, costs};
  const Plan plan = make_policy(policy, options)->plan(problem);
  CHECK(check(graph, platform, plan).empty());
  return to_us(simulate(problem, plan).makespan()) / 1e3;
}

Latency simulated(const TaskGraph& graph, const Platform& platform) {
  return {.sequential = simulated_ms(graph, platform, "single_stream"),
          .greedy = simulated_ms(graph, platform, "greedy_stages"),
          .greedy_events =
              simulated_ms(graph, platform, "greedy_stages", {{"barrier", std::string{"events"}}})};
}

Latency published(const std::vector<testing::CsvRow>& table, const std::string& model) {
  const auto of = [&](const std::string& schedule) {
    for (const testing::CsvRow& row : table) {
      const bool asked = row.at("model") == model && row.at("schedule") == schedule &&
                         row.at("gpu") == "V100" && row.at("batch") == "1";
      if (asked) return std::stod(row.at("latency_ms"));
    }
    return 0.0;
  };
  return {.sequential = of("Sequential"), .greedy = of("Greedy"), .greedy_events = 0};
}

void report(const std::string& model, const Latency& measured, const Latency& predicted) {
  MESSAGE(fmt::format(
      "{}: sequential {:.2f} measured, {:.2f} predicted; greedy {:.2f}, {:.2f} (with events "
      "{:.2f}); gain {:.2f}, {:.2f}",
      model,
      measured.sequential,
      predicted.sequential,
      measured.greedy,
      predicted.greedy,
      predicted.greedy_events,
      measured.gain(),
      predicted.gain()));
}

}  // namespace

TEST_CASE("the network of IOS's SqueezeNet has its published size") {
  const TaskGraph graph = testing::squeezenet();
  // 1 + 8 x (squeeze, two expands) + 4 bypasses where channels change + classifier: 30
  // convolutions; 8 joins, 8 sums, 4 poolings.
  CHECK(graph.task_count() == 30 + 8 + 8 + 4);
  double flops = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.kind == TaskKind::convolution) flops += operation.flops().count();
  }
  // 0.349 G multiply-adds is the first layer's 112 x 112 x 96 x 147 = 0.177 G and the rest.
  CHECK(flops > 2 * 0.177e9);
  CHECK(flops < 2 * 1.2e9);
}

TEST_CASE("greedy stages win on Inception-v3 and lose on SqueezeNet, on a V100 at batch 1") {
  const auto table_path = testing::reference_data("ios/latency.csv");
  const auto schedule = testing::reference_data("ios/schedules_inception_v3/v100.json");
  if (!table_path || !schedule) return;
  const std::vector<testing::CsvRow> table = testing::read_csv(*table_path);
  const Platform v100 = load_machine("v100").platform;

  std::ifstream file{*schedule};
  const TaskGraph inception = testing::unmerged_network(nlohmann::json::parse(file));
  CHECK(inception.task_count() == 119);  // the operators are numbered 1 to 119 in the files
  const Latency measured = published(table, "inception_v3");
  const Latency predicted = simulated(inception, v100);
  report("Inception-v3", measured, predicted);
  CHECK(measured.gain() > 1.0);
  CHECK(predicted.gain() > 1.0);

  const Latency measured_squeeze = published(table, "squeezenet");
  const Latency predicted_squeeze = simulated(testing::squeezenet(), v100);
  report("SqueezeNet", measured_squeeze, predicted_squeeze);
  CHECK(measured_squeeze.gain() < 1.0);
  CHECK(predicted_squeeze.gain() < 1.0);
}

}  // namespace schedlab
