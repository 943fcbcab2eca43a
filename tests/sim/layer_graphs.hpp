// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"
#include "sim/pipeline/partition.hpp"

#include <string>
#include <utility>
#include <vector>

namespace schedlab::test {

/// Layers by hand: "a" of 3 ms forward and as much for each gradient, with what it reads.
class LayerList {
 public:
  LayerList& add(const std::string& name,
                 Duration forward,
                 const std::vector<std::string>& inputs) {
    const auto operation = [&](const char* pass) {
      return graph_.operations.push_back({.name = name + pass,
                                          .kind = TaskKind::fixed,
                                          .task_class = TaskClass::unclassified,
                                          .kernels = {},
                                          .fixed_duration = forward});
    };
    Layer layer;
    layer.name = name;
    layer.forward = operation(".forward");
    layer.backward_data = operation(".backward_data");
    layer.backward_weight = operation(".backward_weight");
    for (const std::string& input : inputs) layer.inputs.push_back(find(input));
    graph_.layers.push_back(std::move(layer));
    return *this;
  }
  Layer& last() {
    return graph_.layers[LayerId{static_cast<std::uint32_t>(graph_.layers.size() - 1)}];
  }
  [[nodiscard]] LayerId find(const std::string& name) const {
    for (const LayerId id : graph_.layers.ids()) {
      if (graph_.layers[id].name == name) return id;
    }
    return LayerId::none();
  }
  [[nodiscard]] LayerGraph& graph() { return graph_; }

 private:
  LayerGraph graph_{.name = "by hand", .samples = 1, .operations = {}, .layers = {}};
};

inline IdVector<LayerId, std::uint32_t> stages(const std::vector<std::uint32_t>& numbers) {
  return IdVector<LayerId, std::uint32_t>(numbers);
}

}  // namespace schedlab::test
