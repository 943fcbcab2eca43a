// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/json_document.hpp"
#include "workloads/pipeline/layer_file.hpp"
#include "workloads/pipeline/layer_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using JsonValue = nlohmann::json;

constexpr double longest_us = 1e12;  // eleven days
constexpr double largest_count = 1e18;
constexpr double max_flops = 1e30;
constexpr double max_ranks = 1e6;

/// Members that may be missing.
class JsonFields : public JsonDocument {
 public:
  using JsonDocument::JsonDocument;

  /// nullptr if it is not there and need not be.
  [[nodiscard]] const JsonValue* find(const JsonValue& object,
                                      const std::string& key,
                                      const std::string& pointer,
                                      bool required) const {
    if (required) return &at(object, pointer, key);
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  [[nodiscard]] double number(const JsonValue& object,
                              const std::string& key,
                              const std::string& pointer,
                              double most,
                              bool required = false) const {
    const JsonValue* value = find(object, key, pointer, required);
    if (value == nullptr) return 0;
    const double result = value->is_number() ? value->get<double>() : -1;
    if (!(result >= 0 && result <= most)) {
      fail(pointer + "/" + key, shown(*value), fmt::format("a number from 0 to {}", most));
    }
    return result;
  }
  /// true, false, 1 or 0.
  [[nodiscard]] bool flag(const JsonValue& object,
                          const std::string& key,
                          const std::string& pointer,
                          bool otherwise) const {
    const JsonValue* value = find(object, key, pointer, false);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    if (!value->is_number() || (*value != 0 && *value != 1)) {
      fail(pointer + "/" + key, shown(*value), "true, false, 1 or 0");
    }
    return *value == 1;
  }
  [[nodiscard]] std::int64_t count(const JsonValue& object,
                                   const std::string& key,
                                   const std::string& pointer) const {
    const double value = number(object, key, pointer, largest_count);
    if (value != std::floor(value)) {
      fail(pointer + "/" + key, fmt::format("{}", value), "a whole number");
    }
    const JsonValue* exact = find(object, key, pointer, false);
    return exact != nullptr && exact->is_number_integer() ? exact->get<std::int64_t>()
                                                          : static_cast<std::int64_t>(value);
  }
  [[nodiscard]] Duration us(const JsonValue& object,
                            const std::string& key,
                            const std::string& pointer) const {
    return from_us(number(object, key, pointer, longest_us));
  }
  [[nodiscard]] std::string text(const JsonValue& object,
                                 const std::string& key,
                                 const std::string& pointer,
                                 bool required = false) const {
    const JsonValue* value = find(object, key, pointer, required);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(pointer + "/" + key, shown(*value), "a text");
    return value->get<std::string>();
  }
  /// Which of the words it is; `missing` without the key.
  [[nodiscard]] std::size_t word(const JsonValue& object,
                                 const std::string& key,
                                 const std::string& pointer,
                                 const std::vector<std::string>& words,
                                 std::optional<std::size_t> missing = std::nullopt) const {
    const std::string given = text(object, key, pointer, !missing);
    if (given.empty() && missing) return *missing;
    const auto found = std::find(words.begin(), words.end(), given);
    if (found == words.end()) {
      fail(pointer + "/" + key,
           fmt::format("\"{}\"", given),
           fmt::format("one of {}", fmt::join(words, ", ")));
    }
    return static_cast<std::size_t>(found - words.begin());
  }
};

const std::vector<std::string>& layer_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all{"name",
                                 "needs",
                                 "parameter_bytes",
                                 "activation_bytes",
                                 "kept_bytes",
                                 "transfer_us",
                                 "tied",
                                 "collectives"};
    for (const char* pass : detail::layer_pass_names) {
      all.push_back(fmt::format("{}_us", pass));
      all.push_back(fmt::format("{}_kernels", pass));
    }
    return all;
  }();
  return keys;
}

/// Our own form.
class LayersReader {
 public:
  explicit LayersReader(const std::string& file) : fields_(file), file_(file) {}

  LayerGraph read(std::string_view text) {
    const JsonValue root = fields_.parse(text);
    fields_.expect_keys(
        root,
        "",
        {"schedlab", "version", "name", "description", "samples", "tensor_parallel", "layers"});
    if (fields_.text(root, "schedlab", "", true) != "layers") {
      fields_.fail("/schedlab", root.at("schedlab").dump(), "\"layers\"");
    }
    if (fields_.number(root, "version", "", 1, true) != 1) {
      fields_.fail("/version", root.at("version").dump(), "1");
    }
    graph_.name = fields_.text(root, "name", "");
    if (graph_.name.empty()) graph_.name = file_;
    if (root.contains("samples")) graph_.samples = fields_.count(root, "samples", "");
    if (root.contains("tensor_parallel")) {
      graph_.tensor_parallel = static_cast<std::uint32_t>(
          std::max(1.0, fields_.number(root, "tensor_parallel", "", max_ranks)));
    }
    const JsonValue& layers = fields_.array_at(root, "", "layers");
    for (std::size_t i = 0; i < layers.size(); ++i) add(layers[i], fmt::format("/layers/{}", i));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add_needs(layers[i], LayerId{static_cast<std::uint32_t>(i)}, fmt::format("/layers/{}", i));
    }
    check_layers(graph_, file_);
    return std::move(graph_);
  }

 private:
  void add(const JsonValue& json, const std::string& at) {
    fields_.expect_keys(json, at, layer_keys());
    Layer layer;
    layer.name = fields_.text(json, "name", at, true);
    layer.tied = fields_.text(json, "tied", at);
    layer.parameters = Bytes{fields_.count(json, "parameter_bytes", at)};
    layer.activation = Bytes{fields_.count(json, "activation_bytes", at)};
    layer.kept = Bytes{fields_.count(json, "kept_bytes", at)};
    if (json.contains("transfer_us")) layer.transfer = fields_.us(json, "transfer_us", at);
    for (std::size_t pass = 0; pass < detail::layer_pass_names.size(); ++pass) {
      layer.*(detail::layer_pass_members[pass]) =
          operation(json, at, layer.name, detail::layer_pass_names[pass]);
    }
    add_collectives(json, at, layer);
    const auto id = graph_.layers.push_back(std::move(layer));
    by_name_.emplace(graph_.layers[id].name, id);
  }

  void add_collectives(const JsonValue& json, const std::string& at, Layer& layer) const {
    if (!json.contains("collectives")) return;
    const JsonValue& list = fields_.array_at(json, at, "collectives");
    const std::vector<std::string> passes(
        detail::layer_pass_names.begin(),
        detail::layer_pass_names.begin() + detail::layer_join_passes);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = fmt::format("{}/collectives/{}", at, i);
      fields_.expect_keys(list[i], pointer, {"pass", "kernels", "operation", "bytes"});
      layer.joins.push_back(
          {.pass = static_cast<LayerPass>(fields_.word(list[i], "pass", pointer, passes)),
           .kernels =
               static_cast<std::uint32_t>(fields_.number(list[i], "kernels", pointer, max_ranks)),
           .op = static_cast<CollectiveOp>(
               fields_.word(list[i], "operation", pointer, enum_names<CollectiveOp>())),
           .bytes = Bytes{fields_.count(list[i], "bytes", pointer)}});
    }
  }

  OperationId operation(const JsonValue& json,
                        const std::string& at,
                        const std::string& layer,
                        const std::string& pass) {
    const std::string us_key = pass + "_us";
    const std::string kernels_key = pass + "_kernels";
    Operation operation;
    operation.name = fmt::format("{}.{}", layer, pass);
    if (json.contains(kernels_key)) {
      if (json.contains(us_key)) {
        fields_.fail(at, fmt::format("both {} and {}", us_key, kernels_key), "one of them");
      }
      const JsonValue& kernels = fields_.array_at(json, at, kernels_key);
      operation.kind = TaskKind::composite;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        operation.kernels.push_back(
            kernel(kernels[i], fmt::format("{}/{}/{}", at, kernels_key, i)));
      }
      if (operation.kernels.size() == 1) operation.kind = operation.kernels.front().kind;
    } else {
      operation.fixed_duration = fields_.us(json, us_key, at);
    }
    if (operation.kernels.empty() && operation.fixed_duration == Duration{0}) {
      return OperationId::none();
    }
    return graph_.operations.push_back(std::move(operation));
  }

  [[nodiscard]] Kernel kernel(const JsonValue& json, const std::string& at) const {
    fields_.expect_keys(
        json, at, {"kind", "data_type", "m", "n", "k", "flops", "bytes_read", "bytes_written"});
    Kernel kernel;
    const auto& kinds = enum_names<TaskKind>();
    const auto& types = enum_names<DataType>();
    kernel.kind = enum_value<TaskKind>(kinds[fields_.word(json, "kind", at, kinds)]);
    // Without it fp32, as in graph files.
    kernel.type = enum_value<DataType>(types[fields_.word(json, "data_type", at, types, 1)]);
    kernel.m = fields_.count(json, "m", at);
    kernel.n = fields_.count(json, "n", at);
    kernel.k = fields_.count(json, "k", at);
    kernel.flops = Flops{fields_.number(json, "flops", at, max_flops)};
    kernel.bytes_read = Bytes{fields_.count(json, "bytes_read", at)};
    kernel.bytes_written = Bytes{fields_.count(json, "bytes_written", at)};
    return kernel;
  }

  void add_needs(const JsonValue& json, LayerId id, const std::string& at) {
    if (!json.contains("needs")) return;
    const JsonValue& needs = fields_.array_at(json, at, "needs");
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const std::string pointer = fmt::format("{}/needs/{}", at, i);
      if (!needs[i].is_string()) {
        fields_.fail(pointer, JsonFields::shown(needs[i]), "the name of a layer");
      }
      const auto name = needs[i].get<std::string>();
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        std::vector<std::string> names;
        for (const Layer& layer : graph_.layers) names.push_back(layer.name);
        const std::string close = closest_spelling(name, names);
        fields_.fail(pointer,
                     fmt::format("\"{}\"", name),
                     fmt::format("the name of one of {} layers", names.size()),
                     close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close));
      }
      graph_.layers[id].inputs.push_back(found->second);
    }
  }

  JsonFields fields_;
  const std::string& file_;
  LayerGraph graph_;
  std::map<std::string, LayerId> by_name_;
};

/// Graphs of the partitioning study.
class PartitioningReader {
 public:
  explicit PartitioningReader(const std::string& file) : fields_(file), file_(file) {}

  LayerFile read(std::string_view text) {
    const JsonValue root = fields_.parse(text);
    fields_.expect_object(root, "");
    result_.forward_only = true;
    result_.graph.name = file_;
    result_.accelerators =
        static_cast<std::uint32_t>(fields_.number(root, "maxFPGAs", "", 1e6, true));
    if (const double cpus = fields_.number(root, "maxCPUs", "", 1e6); cpus > 0) {
      result_.notes.push_back(
          fmt::format("{}: maxCPUs {} is not used: all stages are on accelerators, one that a CPU "
                      "takes might be better",
                      file_,
                      cpus));
    }
    result_.memory = Bytes{std::llround(fields_.number(root, "maxSizePerFPGA", "", largest_count))};
    const JsonValue& nodes = fields_.array_at(root, "", "nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) add(nodes[i], fmt::format("/nodes/{}", i));
    const JsonValue& edges = fields_.array_at(root, "", "edges");
    for (std::size_t i = 0; i < edges.size(); ++i) connect(edges[i], fmt::format("/edges/{}", i));
    check_layers(result_.graph, file_);
    return std::move(result_);
  }

 private:
  void add(const JsonValue& json, const std::string& at) {
    fields_.expect_object(json, at);
    if (fields_.flag(json, "isBackwardNode", at, false)) {
      fields_.fail(at, "a node of the backward pass", "a graph of inference");
    }
    if (!fields_.flag(json, "supportedOnFpga", at, true)) {
      fields_.fail(at, "a node that no accelerator can run", "nodes that accelerators can run");
    }
    const std::int64_t id = fields_.count(json, "id", at);
    Layer layer;
    layer.name = fields_.text(json, "name", at);
    if (layer.name.empty()) layer.name = fmt::format("node{}", id);
    const double ms = fields_.number(json, "fpgaLatency", at, longest_us / 1000, true);
    if (ms > 0) {
      layer.forward = result_.graph.operations.push_back({.name = layer.name + ".forward",
                                                          .kind = TaskKind::fixed,
                                                          .task_class = TaskClass::unclassified,
                                                          .kernels = {},
                                                          .fixed_duration = from_us(1000 * ms)});
    }
    layer.parameters = Bytes{std::llround(fields_.number(json, "size", at, largest_count))};
    layer.transfer = Duration{0};
    if (!by_id_.emplace(id, result_.graph.layers.push_back(std::move(layer))).second) {
      fields_.fail(at + "/id", fmt::format("{} for the second time", id), "each id once");
    }
  }

  void connect(const JsonValue& json, const std::string& at) {
    fields_.expect_object(json, at);
    const auto end = [&](const char* key) {
      const std::int64_t id = fields_.count(json, key, at);
      const auto found = by_id_.find(id);
      if (found == by_id_.end()) {
        fields_.fail(fmt::format("{}/{}", at, key), fmt::format("{}", id), "the id of a node");
      }
      return found->second;
    };
    const LayerId from = end("sourceId");
    const LayerId to = end("destId");
    Layer& source = result_.graph.layers[from];
    source.transfer = std::max(*source.transfer,
                               from_us(1000 * fields_.number(json, "cost", at, longest_us / 1000)));
    source.activation = std::max(
        source.activation, Bytes{std::llround(fields_.number(json, "size", at, largest_count))});
    result_.graph.layers[to].inputs.push_back(from);
  }

  JsonFields fields_;
  const std::string& file_;
  LayerFile result_;
  std::map<std::int64_t, LayerId> by_id_;
};

}  // namespace

LayerGraph read_layers_json(std::string_view text, const std::string& file) {
  return LayersReader(file).read(text);
}

LayerFile read_partitioning_json(std::string_view text, const std::string& file) {
  return PartitioningReader(file).read(text);
}

}  // namespace schedlab
