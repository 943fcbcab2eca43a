// SPDX-License-Identifier: Apache-2.0
#include "hw_models/attention.hpp"
#include "hw_models/expert_exchange.hpp"
#include "hw_models/fitted_collective.hpp"
#include "hw_models/fitted_json.hpp"
#include "hw_models/json_leaves.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/residual_trees.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

double us(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;  // the division rounds once: reads back equal
}

/// Members of tiles share the origin that stands beside them.
bool in_a_list(const std::string& pointer) {
  return pointer.starts_with("/device/gemm_tiles/") || pointer.starts_with("/device/conv_tiles/");
}

bool is_written_whole(const std::string& pointer) {
  constexpr std::array<std::string_view, 7> objects{"/device/matrix_libraries/",
                                                    "/device/attention/",
                                                    "/network/ring_protocols/",
                                                    "/network/pairwise_protocols/",
                                                    "/network/in_switch/",
                                                    "/network/expert_dispatch/",
                                                    "/network/expert_combine/"};
  return std::any_of(objects.begin(), objects.end(), [&](std::string_view object) {
    return pointer.starts_with(object);
  });
}

void add_number(const NumberSource& source, Json& root) {
  if (is_written_whole(source.pointer)) return;
  const std::string origin{to_string(source.origin)};
  if (!in_a_list(source.pointer)) {
    Json& json = root[Json::json_pointer{source.pointer}];
    json["value"] = whole_or_real(source.value);
    if (source.low != source.high) {
      json["low"] = whole_or_real(source.low);
      json["high"] = whole_or_real(source.high);
    }
    json[origin] = source.text;
    return;
  }
  const std::string parent = source.pointer.substr(0, source.pointer.rfind('/'));
  const std::string list = parent.substr(0, parent.rfind('/'));
  Json& tiles = root[Json::json_pointer{list}];
  const std::size_t index = std::stoul(last_key(parent));
  while (tiles.size() <= index) tiles.push_back(Json::object());
  tiles[index][last_key(source.pointer)] = whole_or_real(source.value);
  tiles[index][origin] = source.text;
}

void add_texts(const MachineSpec& machine, Json& root) {
  const Platform& platform = machine.platform;
  const Device& device = platform.devices[DeviceId{0}];
  root["device"]["name"] = device.name;
  root["device"]["sharing"] = std::string{to_string(platform.sharing)};
  for (const std::string& kind : enum_names<TaskKind>()) {
    const UnitClassId id =
        device.unit_class_of[static_cast<std::size_t>(enum_value<TaskKind>(kind))];
    if (id.valid()) root["device"]["runs_on"][kind] = device.unit_classes[id].name;
  }
  if (platform.network.topology != Topology::none) {
    root["network"]["topology"] = std::string{to_string(platform.network.topology)};
  }
}

Json pass_json(const RecurrentPassCost& pass) {
  return {{"fixed_us", whole_or_real(us(pass.fixed))},
          {"early_us", whole_or_real(us(pass.early))},
          {"memory_share", pass.memory_share},
          {"efficiency", pass.efficiency},
          {"narrow_efficiency", pass.narrow_efficiency},
          {"slow_step_ns", whole_or_real(us(pass.slow_step) * 1e3)}};
}

Json weight_gradient_json(const WeightGradientCost& pass) {
  return {{"fixed_us", whole_or_real(us(pass.fixed))},
          {"efficiency", pass.efficiency},
          {"result_moves", pass.result_moves},
          {"operand_moves", pass.operand_moves}};
}

Json fitted_json(const FittedValue& fitted) {
  return {{"value", whole_or_real(fitted.value)},
          {"low", whole_or_real(fitted.low)},
          {"high", whole_or_real(fitted.high)}};
}

Json library_json(const MatrixLibrary& library) {
  Json json{{"name", library.name}, {"types", Json::array()}, {"tiles", Json::array()}};
  for (const DataType type : library.types) {
    json["types"].push_back(std::string{to_string(type)});
  }
  if (library.pipelined) {
    for (std::size_t i = 0; i < library.tiles.size(); ++i) {
      const GemmTile& tile = library.tiles[i];
      json["tiles"].push_back({{"m", tile.m},
                               {"n", tile.n},
                               {"efficiency", fitted_json(library.pipelined->efficiencies[i])}});
    }
    for (std::size_t i = 0; i < product_parameter_count; ++i) {
      json["pipelined"][std::string{to_string(static_cast<ProductParameter>(i))}] =
          fitted_json(library.pipelined->values[i]);
    }
    for (const ProductInterval& one : library.pipelined->intervals) {
      json["intervals"].push_back({{"rows", whole_or_real(one.rows)},
                                   {"low", whole_or_real(one.low)},
                                   {"high", whole_or_real(one.high)}});
    }
    for (const ResidualTree& tree : library.pipelined->residuals) {
      json["residuals"].push_back(tree_text(tree));
    }
    json[library.assumed ? "assumed" : "fitted"] = library.source;
    return json;
  }
  for (const GemmTile& tile : library.tiles) {
    json["tiles"].push_back({{"m", tile.m}, {"n", tile.n}, {"efficiency", tile.efficiency}});
  }
  json["call_us"] = whole_or_real(us(library.call));
  json["split_us"] = whole_or_real(us(library.split));
  json["tile_step_ns"] = whole_or_real(us(library.tile_step) * 1e3);
  json["max_split"] = library.max_split;
  json["memory_share"] = whole_or_real(library.memory_share);
  json["strided_share"] = whole_or_real(library.strided_share);
  json["layout_tn"] = whole_or_real(library.layout[static_cast<std::size_t>(GemmLayout::tn)]);
  json["narrow_side"] = library.narrow_side;
  json["narrow_efficiency"] = whole_or_real(library.narrow_efficiency);
  if (library.recurrent) {
    json["recurrent"] = {{"forward", pass_json(library.forward)},
                         {"data_gradient", pass_json(library.data_gradient)},
                         {"weight_gradient", weight_gradient_json(library.weight_gradient)}};
  }
  json["source"] = library.source;
  return json;
}

void put_fitted(const FittedParameters& fitted,
                std::span<const ParameterInfo> infos,
                const char* pointer,
                Json& root) {
  if (fitted.known()) root[Json::json_pointer{pointer}] = parameters_json(fitted, infos);
}

void add_fitted_network(const CollectiveCosts& costs, Json& root) {
  for (const FittedParameters& one : costs.ring_protocols) {
    root["network"]["ring_protocols"].push_back(parameters_json(one, protocol_parameters()));
  }
  for (const FittedParameters& one : costs.pairwise_protocols) {
    root["network"]["pairwise_protocols"].push_back(parameters_json(one, protocol_parameters()));
  }
  put_fitted(costs.in_switch, switch_parameters(), "/network/in_switch", root);
  put_fitted(costs.dispatch, expert_parameters(), "/network/expert_dispatch", root);
  put_fitted(costs.combine, expert_parameters(), "/network/expert_combine", root);
}

Json sample_json(const KernelSample& sample) {
  const Kernel& kernel = sample.kernel;
  Json json{{"operation", sample.operation},
            {"kind", std::string{to_string(kernel.kind)}},
            {"type", std::string{to_string(kernel.type)}},
            {"m", kernel.m},
            {"n", kernel.n},
            {"k", kernel.k},
            {"flops", whole_or_real(kernel.flops.count())},
            {"bytes_read", kernel.bytes_read.count()},
            {"bytes_written", kernel.bytes_written.count()},
            {"working_set", kernel.working_set.count()},
            {"blocks", kernel.grid.blocks},
            {"units", sample.units},
            {"duration_us", whole_or_real(us(sample.duration))},
            {"spread", whole_or_real(sample.spread)},
            {"repetitions", sample.repetitions}};
  if (kernel.bytes_cached > Bytes{0}) json["bytes_cached"] = kernel.bytes_cached.count();
  if (kernel.bytes_unit_cached > Bytes{0}) {
    json["bytes_unit_cached"] = kernel.bytes_unit_cached.count();
  }
  return json;
}

Json profile_json(const KernelProfile& profile) {
  Json json{{"measured", profile.how}, {"date", profile.date}};
  if (!profile.cpu.empty()) json["cpu"] = profile.cpu;
  if (!profile.compiler.empty()) json["compiler"] = profile.compiler;
  if (!profile.valid.empty()) json["valid"] = profile.valid;
  json["units"] = profile.units;
  json["flops_per_block"] = whole_or_real(profile.cut.flops_per_block);
  json["bytes_per_block"] = whole_or_real(profile.cut.bytes_per_block);
  json["noise"] = whole_or_real(profile.noise);
  if (profile.last_block_wait != 0)
    json["last_block_wait"] = whole_or_real(profile.last_block_wait);
  if (profile.hidden_latency != 0) json["hidden_latency"] = whole_or_real(profile.hidden_latency);
  for (const CoRunSlowDown& one : profile.co_run) {
    json["co_run"][std::string{to_string(one.kind)}] = whole_or_real(one.factor);
  }
  for (const CacheShare& point : profile.cache_curve) {
    json["cache_curve"].push_back(
        {{"distance", whole_or_real(point.distance)}, {"share", whole_or_real(point.share)}});
  }
  if (!profile.drift.empty()) json["drift"] = Json::array();
  json["samples"] = Json::array();
  return json;
}

Json drift_json(const DriftReading& reading) {
  Json json = Json::object();
  for (const DriftReading::Factors& factors : reading.kinds) {
    json[std::string{to_string(factors.kind)}] = {{"one_unit", whole_or_real(factors.one_unit)},
                                                  {"all_units", whole_or_real(factors.all_units)}};
  }
  return json;
}

/// Fills an empty list, one item a line: hundreds of them are then still readable.
template <class Item>
void put_lines(std::string_view key,
               const std::vector<Item>& items,
               Json (*json_of)(const Item&),
               std::string& text) {
  const std::string empty = fmt::format("\"{}\": []", key);
  const std::size_t at = text.rfind(empty);
  SCHEDLAB_EXPECTS(at != std::string::npos, fmt::format("place of {}", key));
  std::string lines = fmt::format("\"{}\": [", key);
  for (std::size_t i = 0; i < items.size(); ++i) {
    lines += fmt::format("{}\n      {}", i == 0 ? "" : ",", json_of(items[i]).dump());
  }
  text.replace(at, empty.size(), lines + (items.empty() ? "]" : "\n    ]"));
}

}  // namespace

std::string write_machine(const MachineSpec& machine) {
  Json root{{"name", machine.name}};
  if (!machine.description.empty()) root["description"] = machine.description;
  add_texts(machine, root);
  for (const NumberSource& source : machine.sources) add_number(source, root);
  add_fitted_network(machine.platform.network.collectives, root);
  const auto& profile = machine.platform.devices[DeviceId{0}].profile;
  if (profile == nullptr) return root.dump(2) + "\n";
  for (const MatrixLibrary& library : profile->libraries) {
    root["device"]["matrix_libraries"].push_back(library_json(library));
  }
  put_fitted(profile->context, context_parameters(), "/device/attention/context", root);
  put_fitted(profile->generation, generation_parameters(), "/device/attention/generation", root);
  if (!profile->calibrated()) return root.dump(2) + "\n";
  root["profile"] = profile_json(*profile);
  std::string text = root.dump(2) + "\n";
  put_lines("samples", profile->samples, &sample_json, text);
  if (!profile->drift.empty()) put_lines("drift", profile->drift, &drift_json, text);
  return text;
}

}  // namespace schedlab
