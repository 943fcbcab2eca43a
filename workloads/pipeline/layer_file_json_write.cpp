// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_file.hpp"
#include "workloads/pipeline/layer_passes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

double exact_us(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

Json kernels_json(const Operation& operation) {
  Json kernels = Json::array();
  for (const Kernel& kernel : operation.kernels) {
    kernels.push_back({{"kind", to_string(kernel.kind)},
                       {"data_type", to_string(kernel.type)},
                       {"m", kernel.m},
                       {"n", kernel.n},
                       {"k", kernel.k},
                       {"flops", kernel.flops.count()},
                       {"bytes_read", kernel.bytes_read.count()},
                       {"bytes_written", kernel.bytes_written.count()}});
  }
  return kernels;
}

/// With each line after the first moved to the right.
std::string indented(const Json& json, std::string_view by) {
  std::string text;
  for (const char c : json.dump(1, ' ', false, Json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text += by;
  }
  return text;
}

}  // namespace

// Layer by layer: thousands of them, with all their kernels, would take gigabytes as one value.
std::string write_layers_json(const LayerGraph& graph) {
  Json root{
      {"schedlab", "layers"}, {"version", 1}, {"name", graph.name}, {"samples", graph.samples}};
  if (graph.tensor_parallel > 1) root["tensor_parallel"] = graph.tensor_parallel;
  std::string text = root.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // the line with the brace
  text += ",\n \"layers\": [";
  const char* between = "\n  ";
  for (const Layer& layer : graph.layers) {
    Json json{{"name", layer.name}};
    Json needs = Json::array();
    for (const LayerId input : layer.inputs) needs.push_back(graph.layers[input].name);
    if (!needs.empty()) json["needs"] = needs;
    for (std::size_t pass = 0; pass < detail::layer_pass_names.size(); ++pass) {
      const OperationId id = layer.*(detail::layer_pass_members[pass]);
      if (!id.valid()) continue;
      const Operation& operation = graph.operations[id];
      if (operation.kernels.empty()) {
        json[fmt::format("{}_us", detail::layer_pass_names[pass])] =
            exact_us(operation.fixed_duration);
      } else {
        json[fmt::format("{}_kernels", detail::layer_pass_names[pass])] = kernels_json(operation);
      }
    }
    json["parameter_bytes"] = layer.parameters.count();
    json["activation_bytes"] = layer.activation.count();
    json["kept_bytes"] = layer.kept.count();
    if (layer.transfer) json["transfer_us"] = exact_us(*layer.transfer);
    if (!layer.tied.empty()) json["tied"] = layer.tied;
    for (const LayerJoin& join : layer.joins) {
      json["collectives"].push_back(
          {{"pass", detail::layer_pass_names[static_cast<std::size_t>(join.pass)]},
           {"kernels", join.kernels},
           {"operation", to_string(join.op)},
           {"bytes", join.bytes.count()}});
    }
    text += between;
    text += indented(json, "  ");
    between = ",\n  ";
  }
  return text + "\n ]\n}\n";
}
}  // namespace schedlab
