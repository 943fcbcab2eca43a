// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schedlab::testing {

/// A network of convolutions for one image in fp32, as the runtime of IOS executes it at batch 1:
/// convolution with bias and ReLU is one kernel, pooling one, joining channels one copy per part,
/// adding two maps one kernel; a consumer of some channels reads them where they are.
class ConvNet {
 public:
  struct Map {
    std::int64_t c = 0;
    std::int64_t h = 0;
    std::int64_t w = 0;

    [[nodiscard]] std::int64_t elements() const { return c * h * w; }
  };
  struct Window {
    std::int64_t r = 1, s = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  };
  /// What a node hands on; of no node: the input of the network.
  struct Value {
    TaskId task;
    Map map;
  };

  [[nodiscard]] Value input(Map map) const { return {TaskId::none(), map}; }
  Value conv(const Value& x, std::int64_t channels, const Window& window, std::int64_t groups = 1);
  Value pool(const Value& x, const Window& window);
  Value global_pool(const Value& x);
  Value concat(const std::vector<Value>& parts);
  Value add(const Value& a, const Value& b);

  [[nodiscard]] TaskGraph build() && { return std::move(builder_).build(); }

 private:
  Value node(const std::string& name,
             TaskKind kind,
             std::vector<Kernel> kernels,
             Map map,
             const std::vector<Value>& needs);

  TaskGraphBuilder builder_;
};

/// SqueezeNet with complex bypass (Iandola et al., arXiv 1602.07360), as IOS measured it.
[[nodiscard]] TaskGraph squeezenet();

/// The operators of a schedule file of IOS. Convolutions that the schedule merged (same window,
/// same input) are taken apart again, along the channels that their consumers read.
[[nodiscard]] TaskGraph unmerged_network(const nlohmann::json& schedule);

}  // namespace schedlab::testing
