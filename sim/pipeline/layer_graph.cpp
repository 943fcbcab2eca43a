// SPDX-License-Identifier: Apache-2.0
#include "sim/pipeline/layer_graph.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace schedlab {
namespace {

class LayerCheck {
 public:
  LayerCheck(const LayerGraph& graph, const std::string& file) : graph_(graph), file_(file) {}

  void run() {
    if (graph_.layers.empty()) refuse("/layers", "no layer", "at least one");
    if (graph_.samples < 1) refuse("/samples", fmt::format("{}", graph_.samples), "at least 1");
    for (const LayerId layer : graph_.layers.ids()) check(layer);
  }

 private:
  [[noreturn]] void refuse(const std::string& pointer,
                           const std::string& found,
                           const std::string& expected) const {
    throw InputError(
        {.file = file_, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
  }
  [[noreturn]] void refuse(LayerId layer,
                           const std::string& found,
                           const std::string& expected) const {
    const std::string& name = graph_.layers[layer].name;
    refuse(fmt::format("/layers/{}", layer.value()),
           name.empty() ? found : fmt::format("{} of layer \"{}\"", found, name),
           expected);
  }

  void check(LayerId id) {
    const Layer& layer = graph_.layers[id];
    if (layer.name.empty()) refuse(id, "a layer without a name", "a name");
    if (!names_.insert(layer.name).second) refuse(id, "the name for the second time", "one layer");
    for (const LayerId input : layer.inputs) {
      if (!graph_.layers.contains(input)) {
        refuse(id,
               fmt::format("the input {}", input.value()),
               fmt::format("one of {} layers", graph_.layers.size()));
      }
    }
    for (const OperationId operation :
         {layer.forward, layer.backward_data, layer.backward_weight, layer.update}) {
      if (operation.valid() && !graph_.operations.contains(operation)) {
        refuse(id,
               fmt::format("the operation {}", operation.value()),
               fmt::format("one of {} operations", graph_.operations.size()));
      }
    }
    if (layer.parameters < Bytes{0} || layer.activation < Bytes{0} || layer.kept < Bytes{0} ||
        layer.transfer.value_or(Duration{0}) < Duration{0}) {
      refuse(id, "a negative number", "bytes and durations of at least 0");
    }
    for (const LayerJoin& join : layer.joins) {
      const OperationId operation = layer.of(join.pass);
      const std::size_t kernels =
          operation.valid() ? graph_.operations[operation].kernels.size() : 0;
      if (join.kernels > kernels || join.bytes < Bytes{0} || graph_.tensor_parallel < 2) {
        refuse(id,
               fmt::format("a collective behind {} of {} kernels among {} ranks",
                           join.kernels,
                           kernels,
                           graph_.tensor_parallel),
               "one of at least 2 ranks within the pass");
      }
    }
    check_tied(id);
    add_totals(id);
  }

  /// All layers together must not overflow a count of bytes or a Duration, whatever the cut.
  void add_totals(LayerId id) {
    const Layer& layer = graph_.layers[id];
    for (const OperationId operation :
         {layer.forward, layer.backward_data, layer.backward_weight, layer.update}) {
      if (operation.valid()) total_ps_ += ps(graph_.operations[operation].fixed_duration);
    }
    total_ps_ += ps(layer.transfer.value_or(Duration{0}));
    total_bytes_ += static_cast<double>(layer.parameters.count()) +
                    static_cast<double>(layer.activation.count()) +
                    static_cast<double>(layer.kept.count());
    constexpr double most = 1e18;  // bytes; of picoseconds eleven days
    if (total_ps_ > most) refuse(id, "more than 10^6 s up to the end", "less in all layers");
    if (total_bytes_ > most)
      refuse(id, "more than 10^18 bytes up to the end", "less in all layers");
  }
  [[nodiscard]] static double ps(Duration duration) {
    return static_cast<double>(duration.count());
  }

  void check_tied(LayerId id) {
    const Layer& layer = graph_.layers[id];
    if (layer.tied.empty()) return;
    const auto [first, fresh] = tied_.emplace(layer.tied, id);
    const Layer& other = graph_.layers[first->second];
    if (!fresh && other.parameters != layer.parameters) {
      refuse(id,
             fmt::format(
                 "{} bytes of the shared parameters \"{}\"", layer.parameters.count(), layer.tied),
             fmt::format("{} bytes, as of layer \"{}\"", other.parameters.count(), other.name));
    }
  }

  const LayerGraph& graph_;
  const std::string& file_;
  std::set<std::string> names_;
  std::map<std::string, LayerId> tied_;
  double total_ps_ = 0;
  double total_bytes_ = 0;
};

IdVector<LayerId, LayerTimes> times_of(const LayerGraph& graph,
                                       const IdVector<OperationId, Duration>& durations) {
  const auto of = [&](OperationId operation) {
    return operation.valid() ? durations[operation] : Duration{0};
  };
  IdVector<LayerId, LayerTimes> times(graph.layers.size());
  for (const LayerId id : graph.layers.ids()) {
    const Layer& layer = graph.layers[id];
    times[id] = {.forward = of(layer.forward),
                 .backward_data = of(layer.backward_data),
                 .backward_weight = of(layer.backward_weight),
                 .update = of(layer.update)};
  }
  return times;
}

}  // namespace

LayerTimes& LayerTimes::operator+=(const LayerTimes& other) {
  forward += other.forward;
  backward_data += other.backward_data;
  backward_weight += other.backward_weight;
  update += other.update;
  return *this;
}

void check_layers(const LayerGraph& graph, const std::string& file) {
  LayerCheck(graph, file).run();
}

std::vector<Edge> layer_edges(const LayerGraph& graph) {
  std::vector<Edge> edges;
  for (const LayerId id : graph.layers.ids()) {
    for (const LayerId input : graph.layers[id].inputs) {
      edges.emplace_back(input.value(), id.value());
    }
  }
  return edges;
}

IdVector<LayerId, LayerTimes> layer_times(const LayerGraph& graph,
                                          const CostModel& model,
                                          const Device& device) {
  IdVector<OperationId, Duration> durations(graph.operations.size());
  for (const OperationId id : graph.operations.ids()) {
    const Operation& operation = graph.operations[id];
    durations[id] = operation.kernels.empty() ? operation.fixed_duration
                                              : model.estimate(operation, device).duration;
  }
  return times_of(graph, durations);
}

IdVector<LayerId, LayerTimes> layer_times(const LayerGraph& graph) {
  IdVector<OperationId, Duration> durations(graph.operations.size());
  for (const OperationId id : graph.operations.ids()) {
    const Operation& operation = graph.operations[id];
    if (!operation.kernels.empty()) {
      throw InfeasibleError(
          fmt::format("layers \"{}\": how long \"{}\" takes depends on the machine\n"
                      "  name a machine, or give durations",
                      graph.name,
                      operation.name));
    }
    durations[id] = operation.fixed_duration;
  }
  return times_of(graph, durations);
}

bool needs_machine(const LayerGraph& graph) {
  return std::any_of(graph.operations.begin(),
                     graph.operations.end(),
                     [](const Operation& operation) { return !operation.kernels.empty(); });
}

Bytes parameter_bytes(const LayerGraph& graph) {
  Bytes sum{};
  std::set<std::string> counted;
  for (const Layer& layer : graph.layers) {
    if (layer.tied.empty() || counted.insert(layer.tied).second) sum += layer.parameters;
  }
  return sum;
}

}  // namespace schedlab
