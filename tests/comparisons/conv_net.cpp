// SPDX-License-Identifier: Apache-2.0
#include "tests/comparisons/conv_net.hpp"

#include "sim/graph/convolution.hpp"
#include "sim/graph/row_kernels.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <stdexcept>
#include <utility>

namespace schedlab::testing {
namespace {

using Json = nlohmann::json;
using Range = std::pair<std::int64_t, std::int64_t>;  ///< channels from, to
constexpr DataType type = DataType::fp32;

Kernel copy_of(const ConvNet::Map& map) {
  return pointwise_kernel(map.elements(), 1, 0.0, type);
}

ConvNet::Window window_of(const Json& node) {
  const auto pair = [&](const char* key, std::size_t i) {
    return node.at(key).at(i).get<std::int64_t>();
  };
  return {.r = pair("kernel", 0),
          .s = pair("kernel", 1),
          .stride_h = pair("stride", 0),
          .stride_w = pair("stride", 1),
          .pad_h = pair("padding", 0),
          .pad_w = pair("padding", 1)};
}

/// All nodes of a schedule, in an order in which inputs come first.
std::vector<const Json*> nodes_of(const Json& schedule) {
  std::vector<const Json*> nodes;
  for (const Json& block : schedule.at("blocks")) {
    for (const Json& node : block.at("inner_nodes")) nodes.push_back(&node);
    nodes.push_back(&block.at("exit_node"));
  }
  return nodes;
}

/// The channels of each node that somebody reads apart.
std::map<std::string, std::set<Range>> ranges_read(const std::vector<const Json*>& nodes) {
  std::map<std::string, std::set<Range>> ranges;
  for (const Json* node : nodes) {
    for (const Json& term : node->at("inputs")) {
      for (const Json& value : term) {
        ranges[value.at(0).get<std::string>()].emplace(value.at(1).get<std::int64_t>(),
                                                       value.at(2).get<std::int64_t>());
      }
    }
  }
  return ranges;
}

}  // namespace

ConvNet::Value ConvNet::node(const std::string& name,
                             TaskKind kind,
                             std::vector<Kernel> kernels,
                             Map map,
                             const std::vector<Value>& needs) {
  const OperationId operation =
      builder_.add_operation({.name = name, .kind = kind, .kernels = std::move(kernels)});
  const TaskId task = builder_.add_task(operation);
  for (const Value& need : needs) {
    if (need.task.valid()) builder_.add_edge(need.task, task);
  }
  return {task, map};
}

ConvNet::Value ConvNet::conv(const Value& x,
                             std::int64_t channels,
                             const Window& window,
                             std::int64_t groups) {
  const ConvShape shape{.c = x.map.c,
                        .h = x.map.h,
                        .w = x.map.w,
                        .k = channels,
                        .r = window.r,
                        .s = window.s,
                        .stride_h = window.stride_h,
                        .stride_w = window.stride_w,
                        .pad_h = window.pad_h,
                        .pad_w = window.pad_w,
                        .groups = groups};
  return node("conv",
              TaskKind::convolution,
              {convolution_kernel(shape, ConvPass::forward, type)},
              {channels, shape.p(), shape.q()},
              {x});
}

ConvNet::Value ConvNet::pool(const Value& x, const Window& window) {
  const Map map{x.map.c,
                (x.map.h + 2 * window.pad_h - window.r) / window.stride_h + 1,
                (x.map.w + 2 * window.pad_w - window.s) / window.stride_w + 1};
  return node("pool",
              TaskKind::pointwise,
              {pooling_kernel(x.map.elements(), map.elements(), window.r * window.s, type)},
              map,
              {x});
}

ConvNet::Value ConvNet::global_pool(const Value& x) {
  return node("pool",
              TaskKind::reduction,
              {row_reduction_kernel(x.map.c, x.map.h * x.map.w, type)},
              {x.map.c, 1, 1},
              {x});
}

ConvNet::Value ConvNet::concat(const std::vector<Value>& parts) {
  std::vector<Kernel> copies;
  Map map = parts.front().map;
  map.c = 0;
  for (const Value& part : parts) {
    copies.push_back(copy_of(part.map));
    map.c += part.map.c;
  }
  return node("concat", TaskKind::pointwise, std::move(copies), map, parts);
}

ConvNet::Value ConvNet::add(const Value& a, const Value& b) {
  return node("add",
              TaskKind::pointwise,
              {pointwise_kernel(a.map.elements(), 2, 1.0, type)},
              a.map,
              {a, b});
}

TaskGraph squeezenet() {
  ConvNet net;
  const auto fire = [&](const ConvNet::Value& x, std::int64_t squeeze, std::int64_t expand) {
    const auto s = net.conv(x, squeeze, {});
    const auto wide = net.conv(s, expand, {.r = 3, .s = 3, .pad_h = 1, .pad_w = 1});
    const auto narrow = net.conv(s, expand, {});
    const auto joined = net.concat({wide, narrow});
    return net.add(joined, joined.map.c == x.map.c ? x : net.conv(x, 2 * expand, {}));
  };
  const ConvNet::Window halve{.r = 3, .s = 3, .stride_h = 2, .stride_w = 2};
  auto x = net.conv(net.input({3, 224, 224}),
                    96,
                    {.r = 7, .s = 7, .stride_h = 2, .stride_w = 2, .pad_h = 3, .pad_w = 3});
  x = net.pool(x, halve);
  x = fire(fire(fire(x, 16, 64), 16, 64), 32, 128);
  x = net.pool(x, halve);
  x = fire(fire(fire(fire(x, 32, 128), 48, 192), 48, 192), 64, 256);
  x = net.pool(x, halve);
  x = net.conv(fire(x, 64, 256), 1000, {});
  net.global_pool(x);
  return std::move(net).build();
}

TaskGraph unmerged_network(const Json& schedule) {
  ConvNet net;
  const std::vector<const Json*> nodes = nodes_of(schedule);
  const auto ranges = ranges_read(nodes);
  std::map<std::pair<std::string, Range>, ConvNet::Value> values;
  const auto shape_of = [](const Json& node) {
    const Json& shape = node.at("output_shape");
    return ConvNet::Map{shape.at(0), shape.at(1), shape.at(2)};
  };
  const Json& input = schedule.at("input");
  const ConvNet::Map first = shape_of(input);
  values[{input.at("name"), {0, first.c}}] = net.input(first);

  for (const Json* node : nodes) {
    const auto name = node->at("name").get<std::string>();
    std::vector<ConvNet::Value> parts;
    for (const Json& term : node->at("inputs")) {
      if (term.size() != 1) throw std::runtime_error("node " + name + " adds its inputs");
      parts.push_back(values.at({term.at(0).at(0), {term.at(0).at(1), term.at(0).at(2)}}));
    }
    const ConvNet::Map map = shape_of(*node);
    const ConvNet::Value x = parts.size() == 1 ? parts.front() : net.concat(parts);
    const auto kind = node->at("type").get<std::string>();
    const Range all{0, map.c};
    if (kind == "identity") {
      values[{name, all}] = x;
    } else if (kind == "pool") {
      const bool global = node->at("pool_type").get<std::string>().find("global") == 0;
      values[{name, all}] = global ? net.global_pool(x) : net.pool(x, window_of(*node));
    } else {
      // A merged convolution is as many as there are ranges of its channels that are read apart.
      const auto read = ranges.find(name);
      const std::set<Range> own = read == ranges.end() ? std::set<Range>{all} : read->second;
      for (const Range& range : own) {
        values[{name, range}] =
            net.conv(x, range.second - range.first, window_of(*node), node->at("groups"));
      }
    }
  }
  return std::move(net).build();
}

}  // namespace schedlab::testing
