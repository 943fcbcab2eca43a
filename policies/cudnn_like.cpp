// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_lanes.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "policies/wavefront.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/placing_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

struct CudnnLikeOptions {
  std::uint32_t layers_in_flight = 0;  ///< layers worked on at once; 0 = all
  bool streams_per_iteration = true;   ///< the plan creates and destroys its streams
  std::uint32_t weight_streams = 1;    ///< streams of the weight-gradient phase; 0 = all
  bool by_call = false;  ///< weight gradients follow the data gradients of their own layers' call
  std::uint32_t streams_per_layer =
      2;  ///< 2: products with the input's weights have one of their own
  /// false: a node is one task, which holds the units of its widest kernel from beginning to end,
  /// on one stream per layer; true: its kernels are tasks.
  bool separate_kernels = true;
};

enum class Phase : std::uint8_t { data, weights, rest };

/// Weight gradients form the second phase; what follows from one that is no weight gradient itself
/// (updates, read-back) the third; all else the first.
IdVector<TaskId, Phase> phases(const TaskGraph& graph) {
  IdVector<TaskId, Phase> phase(graph.task_count(), Phase::data);
  for (const TaskId task : graph.topological_order()) {
    const bool weight = graph.operation(task).task_class == TaskClass::weight_gradient;
    const auto before = graph.predecessors(task);
    const Phase latest =
        std::accumulate(before.begin(), before.end(), Phase::data, [&](Phase p, TaskId other) {
          return std::max(p, phase[other]);
        });
    if (latest == Phase::rest || (latest == Phase::weights && !weight)) {
      phase[task] = Phase::rest;
    } else if (weight) {
      phase[task] = Phase::weights;
    }
  }
  return phase;
}

/// Sorts the data phase so that only `in_flight` layers are worked on at once. A level of one
/// single task separates sweeps (forward from backward), within which the layers are numbered in
/// the order in which they begin; groups of `in_flight` of them follow each other.
class WavefrontKey {
 public:
  WavefrontKey(const TaskGraph& graph,
               const IdVector<TaskId, Phase>& phase,
               std::uint32_t in_flight)
      : graph_(graph), phase_(phase), in_flight_(in_flight), level_(levels(graph)) {
    std::vector<std::uint32_t> width;
    for (const TaskId task : graph.tasks()) {
      if (phase[task] != Phase::data) continue;
      if (level_[task] >= width.size()) width.resize(level_[task] + 1, 0);
      ++width[level_[task]];
    }
    sweep_.assign(width.size(), 0);
    for (std::size_t l = 1; l < width.size(); ++l) {
      sweep_[l] = sweep_[l - 1] + (width[l] == 1 && width[l - 1] != 1 ? 1U : 0U);
    }
    std::map<std::uint32_t, std::uint32_t> layers_begun;  // by sweep
    for (const TaskId task : wavefront_order(graph)) {
      if (phase[task] != Phase::data) continue;
      const std::uint32_t sweep = sweep_[level_[task]];
      const std::int16_t layer = graph.tags(task).layer;
      const auto [entry, is_new] = rank_.try_emplace({sweep, layer}, 0U);
      if (is_new && layer >= 0) entry->second = layers_begun[sweep]++;
    }
  }

  [[nodiscard]] std::int64_t operator()(TaskId task) const {
    const std::int64_t level = level_[task];
    if (phase_[task] != Phase::data) return (std::int64_t{1} << 62U) + level;
    return call_key(task) + level;
  }

  /// Weight gradients behind all data gradients of the layers that are in flight with theirs.
  [[nodiscard]] IdVector<TaskId, std::int64_t> keys_by_call() const {
    IdVector<TaskId, std::int64_t> keys(graph_.task_count(), 0);
    std::map<std::int16_t, std::int64_t> layer_end;
    for (const TaskId task : graph_.tasks()) {
      keys[task] = (*this)(task);
      if (phase_[task] != Phase::data) continue;
      std::int64_t& end = layer_end[graph_.tags(task).layer];
      end = std::max(end, keys[task]);
    }
    // By the key of the call in which a layer's data gradients begin.
    IdVector<TaskId, std::int64_t> call(graph_.task_count(), 0);
    std::map<std::int64_t, std::int64_t> call_end;
    for (const TaskId task : graph_.topological_order()) {
      call[task] = keys[task] / call_size;
      if (phase_[task] != Phase::weights) continue;
      const auto before = graph_.predecessors(task);
      for (const TaskId other : before) call[task] = std::min(call[task], call[other]);
      const std::int16_t layer = graph_.tags(task).layer;
      std::int64_t& end = call_end[call[task]];
      if (layer >= 0) end = std::max(end, layer_end[layer]);
      for (const TaskId other : before) {
        if (phase_[other] == Phase::data) end = std::max(end, keys[other]);
      }
    }
    for (const TaskId task : graph_.tasks()) {
      if (phase_[task] != Phase::weights) continue;
      keys[task] = call_end[call[task]] / call_size * call_size + behind_data + level_[task];
    }
    return keys;
  }

 private:
  static constexpr std::int64_t call_size = std::int64_t{1} << 32U;
  static constexpr std::int64_t behind_data = std::int64_t{1} << 31U;

  [[nodiscard]] std::int64_t call_key(TaskId task) const {
    const std::uint32_t sweep = sweep_[level_[task]];
    const std::uint32_t rank = rank_.at({sweep, graph_.tags(task).layer});
    const std::int64_t group = in_flight_ == 0 ? 0 : rank / in_flight_;
    return ((std::int64_t{sweep} << 16U) + group) * call_size;
  }

  const TaskGraph& graph_;
  const IdVector<TaskId, Phase>& phase_;
  std::uint32_t in_flight_;
  IdVector<TaskId, std::uint32_t> level_;
  std::vector<std::uint32_t> sweep_;  // by level
  std::map<std::pair<std::uint32_t, std::int16_t>, std::uint32_t> rank_;
};

/// Two library calls after each other, of all layers: first a wavefront over the data gradients
/// with a bounded number of layers in flight (a layer takes over the stream of the one that ended),
/// then, after a join, the weight gradients, meant to be one large matrix product each; then
/// whatever needed those. An L x T grid of equal nodes with k layers in flight takes (L / k) T + k
/// - 1 node times in the first phase, if k divides L and k <= T. `by_call`: as autograd runs a
/// model whose modules each call the library, here each group of layers in flight: its data
/// gradients, a join, its weight gradients, a join, then what comes next on the caller's stream.
/// Cost: O(tasks log tasks +
/// edges + events * streams). Ties: lower task id first.
///
/// Sources. The two calls: cudnnRNNBackwardData_v8 and cudnnRNNBackwardWeights_v8 of NVIDIA's cuDNN
/// API reference. Streams made anew in every iteration: TurboLSTM, section 2.2, which also observes
/// that weight gradients are computed after the hidden gradients. Defaults are those of the program
/// that Appleyard, Kocisky and Blunsom publish (arXiv 1604.01946, 2016): wavefront over all layers;
/// two streams per layer, input and recurrent products apart, the recurrent stream at the next
/// higher priority ("empirical"); kernels one by one. It also has one product of the inputs of 2
/// steps, which is the workload's option `input_steps`. That program is a forward pass: that the
/// library's backward pass does the same is an inference, as the library is closed. Fewer layers in
/// flight and one stream per layer are open axes; a framework that calls the library layer by layer
/// (GNMT v2 in PyTorch) has 1 in flight.
class CudnnLike final : public PlacingPolicy {
 public:
  explicit CudnnLike(CudnnLikeOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "cudnn_like"; }
  [[nodiscard]] Granularity granularity() const override {
    return options_.separate_kernels ? Granularity::kernel_and_weight
                                     : Granularity::data_and_weight;
  }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;
  [[nodiscard]] bool places_by_graph() const override { return true; }

 private:
  [[nodiscard]] std::vector<TaskId> order_of(const TaskGraph& graph,
                                             const IdVector<TaskId, Phase>& phase,
                                             const WavefrontKey& key) const;

  CudnnLikeOptions options_;
};

std::vector<TaskId> CudnnLike::order_of(const TaskGraph& graph,
                                        const IdVector<TaskId, Phase>& phase,
                                        const WavefrontKey& key) const {
  const auto put_last = [&](std::vector<TaskId>& order, Phase last) {
    std::stable_partition(
        order.begin(), order.end(), [&](TaskId task) { return phase[task] < last; });
  };
  std::vector<TaskId> order;
  if (options_.by_call) {
    const IdVector<TaskId, std::int64_t> keys = key.keys_by_call();
    order = order_by_key(graph, [&](TaskId task) { return keys[task]; });
  } else {
    order = order_by_key(graph, std::cref(key));
    put_last(order, Phase::weights);
  }
  put_last(order, Phase::rest);
  return order;
}

PlanBuilder CudnnLike::place(const Problem& problem) const {
  const TaskGraph& graph = problem.graph;
  const std::uint32_t layers = std::max(layer_count(graph), 1U);
  const std::uint32_t streams =
      options_.layers_in_flight == 0 ? layers : std::min(options_.layers_in_flight, layers);
  const std::uint32_t weight_streams =
      options_.weight_streams == 0 ? streams : std::min(options_.weight_streams, streams);
  PlanBuilder builder{problem};
  const bool two = options_.separate_kernels && options_.streams_per_layer == 2;
  const auto add_streams = [&](const char* name, int priority) {
    for (std::uint32_t i = 0; i < streams; ++i) {
      builder.add_stream({.device = DeviceId{0},
                          .priority = priority,
                          .name = fmt::format("{}_stream_{}", name, i)},
                         options_.streams_per_iteration);
    }
  };
  add_streams("layer", two ? -1 : 0);
  if (two) add_streams("input", 0);
  const IdVector<TaskId, std::uint8_t> second =
      two ? critical_lanes(graph).second : IdVector<TaskId, std::uint8_t>(graph.task_count(), 0);
  const IdVector<TaskId, Phase> phase = phases(graph);
  std::vector<TaskId> join;
  bool in_data = true;
  std::uint32_t next = 0;
  for (const TaskId task : order_of(graph, phase, WavefrontKey{graph, phase, streams})) {
    if ((phase[task] == Phase::data) != in_data) {
      join = builder.last_tasks();
      in_data = !in_data;
    }
    // Every stream joins once; repeated needs cost no further events.
    if (in_data) {
      const int layer = graph.tags(task).layer;
      const std::uint32_t stream = layer < 0 ? 0U : static_cast<std::uint32_t>(layer) % streams;
      builder.place(
          task, StreamId{layer >= 0 && second[task] != 0 ? streams + stream : stream}, join);
    } else {
      builder.place(task, StreamId{next}, join);
      next = (next + 1) % weight_streams;
    }
  }
  return builder;
}

}  // namespace

PolicyInfo cudnn_like_info() {
  return {
      .name = "cudnn_like",
      .summary = "Data-gradient wavefront with few layers in flight, then all weight gradients.",
      .source = "Appleyard, Kocisky, Blunsom, arXiv 1604.01946, 2016; TurboLSTM's baseline",
      .options = {{.name = "layers_in_flight",
                   .default_value = std::int64_t{0},
                   .doc = "Layers that are worked on at once; 0 = all, as the published program.",
                   .minimum = 0,
                   .maximum = 32767},
                  {.name = "streams_per_layer",
                   .default_value = std::int64_t{2},
                   .doc = "2: products with the input's weights run on a stream of their own, the "
                          "recurrent one has the next higher priority; needs separate_kernels.",
                   .minimum = 1,
                   .maximum = 2},
                  {.name = "weight_streams",
                   .default_value = std::int64_t{1},
                   .doc = "Streams of the weight-gradient phase; 0 = as many as layers in flight.",
                   .minimum = 0,
                   .maximum = 32767},
                  {.name = "weight_gradients",
                   .default_value = std::string{"after_all"},
                   .doc = "When they run: after_all data gradients, one library call for all "
                          "layers; by_call: after those of the layers in flight together, as "
                          "autograd runs models whose modules call the library one by one.",
                   .allowed = {"after_all", "by_call"}},
                  {.name = "separate_kernels",
                   .default_value = true,
                   .doc = "The kernels of a node are tasks of their own; false: one task holds "
                          "what the widest needs, on one stream per layer."},
                  streams_per_iteration_option(true)},
      .make =
          [](const Options& options) {
            return std::make_unique<CudnnLike>(
                CudnnLikeOptions{.layers_in_flight = count_of(options, "layers_in_flight"),
                                 .streams_per_iteration = options.flag("streams_per_iteration"),
                                 .weight_streams = count_of(options, "weight_streams"),
                                 .by_call = options.text("weight_gradients") == "by_call",
                                 .streams_per_layer = count_of(options, "streams_per_layer"),
                                 .separate_kernels = options.flag("separate_kernels")});
          },
      .plans_by_durations = true};
}

}  // namespace schedlab
