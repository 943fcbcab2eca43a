// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_rank.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "real_exec/training/stage_timer.hpp"

namespace schedlab {
namespace {

constexpr int call_repetitions = 9;  // assumed: enough for a median

/// One rank that never sends.
class LoneLink final : public RankLink {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] int largest_tag() const override { return 0; }
  [[nodiscard]] std::string description() const override { return "one rank"; }
  Request start_send(std::span<const std::byte> /*data*/, int /*to*/, int /*tag*/) override {
    return 0;
  }
  Request start_receive(std::span<std::byte> /*data*/, int /*from*/, int /*tag*/) override {
    return 0;
  }
  Group add_group(const std::vector<int>& /*ranks*/) override { return 0; }
  Request start_sum(std::span<float> /*values*/, Group /*group*/) override { return 0; }
  [[nodiscard]] bool done(Request /*request*/) override { return true; }
  void wait(Request /*request*/) override {}
  void barrier() override {}
};

}  // namespace

Duration measure_call() {
  PipelineTraining training;
  training.net = {.input = {1, 1, 1}, .layers = {{.kind = NetLayerKind::dense, .units = 2}}};
  training.stages = layer_ranges({1});
  training.data = synthetic_samples(training.net.input, 2, 8, 0.1, 1);
  training.batch = 64;
  training.microbatches = 64;
  const TaskGraph graph = pipeline_graph(pipeline_spec(training));
  Plan plan;
  const StreamId stream = plan.streams.push_back({.device = DeviceId{0}});
  for (const TaskId task : graph.tasks()) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
  }
  LoneLink link;
  const CpuClock clock;
  PipelineRank rank(training, graph, plan, link, clock);
  std::vector<Duration> times;
  for (int i = 0; i < call_repetitions; ++i) {
    const RankRecord record = rank.run().record;
    Duration calls = record.hosts.back().ended - record.hosts.front().started;
    for (const TaskSpan& span : record.tasks) calls -= span.duration();
    times.push_back(calls / static_cast<std::int64_t>(record.hosts.size()));
  }
  return detail::median_of(std::move(times));
}

}  // namespace schedlab
