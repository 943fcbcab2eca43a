// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"

#include "hw_models/attention.hpp"
#include "hw_models/expert_exchange.hpp"
#include "hw_models/fitted_collective.hpp"
#include "hw_models/fitted_json.hpp"
#include "hw_models/json_leaves.hpp"
#include "hw_models/library_reader.hpp"
#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_reader.hpp"
#include "hw_models/machine_texts.hpp"
#include "hw_models/profile_reader.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr NumberRange unit_count{0, 1'000'000, true};
constexpr NumberRange rate_tflop_per_s{0, 1e9, false};
constexpr NumberRange tile_side{1, 65536, true};
constexpr NumberRange efficiency{0.001, 1, false};
constexpr NumberRange block_threads{1, 1024, true};
constexpr NumberRange block_registers{1, 65535, true};
constexpr NumberRange block_bytes{0, 1 << 30, true};

void read_unit_classes(MachineReader& reader, Device& device) {
  for (const std::string& key : reader.children("/device/unit_classes")) {
    const std::string pointer = "/device/unit_classes/" + key;
    const std::optional<double> count = reader.number(pointer, unit_count);
    device.unit_classes.push_back(
        {.name = last_key(pointer), .count = static_cast<std::uint32_t>(count.value_or(0))});
  }
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  const std::string close = closest_spelling(word, words);
  return close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close);
}

void read_runs_on(MachineReader& reader, Device& device) {
  std::vector<std::string> classes;
  for (const UnitClass& unit_class : device.unit_classes) classes.push_back(unit_class.name);
  for (const std::string& kind : enum_names<TaskKind>()) {
    const std::string pointer = "/device/runs_on/" + kind;
    const std::optional<std::string> word = reader.text(pointer);
    if (!word) continue;
    const auto found = std::find(classes.begin(), classes.end(), *word);
    if (found == classes.end()) {
      reader.reject(pointer,
                    fmt::format("the unknown class \"{}\"", *word),
                    fmt::format("one of unit_classes: {}", fmt::join(classes, ", ")),
                    did_you_mean(*word, classes));
    }
    device.unit_class_of[static_cast<std::size_t>(enum_value<TaskKind>(kind))] =
        UnitClassId{static_cast<std::uint32_t>(found - classes.begin())};
  }
}

void read_sharing(MachineReader& reader, Platform& platform) {
  const std::string pointer = "/device/sharing";
  const std::optional<std::string> word = reader.text(pointer);
  if (!word) return;
  const std::optional<SharingModel> model = enum_from<SharingModel>(*word);
  if (!model) {
    reader.reject(pointer,
                  fmt::format("\"{}\"", *word),
                  fmt::format("one of {}", fmt::join(enum_names<SharingModel>(), ", ")),
                  did_you_mean(*word, enum_names<SharingModel>()));
  }
  platform.sharing = *model;
}

void read_topology(MachineReader& reader, Platform& platform) {
  const std::string pointer = "/network/topology";
  const std::optional<std::string> word = reader.text(pointer);
  if (!word) {
    if (reader.children("/network").empty()) return;
    reader.reject("/network",
                  "no \"topology\"",
                  fmt::format("one of {}", fmt::join(enum_names<Topology>(), ", ")));
  }
  const std::optional<Topology> topology = enum_from<Topology>(*word);
  if (!topology) {
    reader.reject(pointer,
                  fmt::format("\"{}\"", *word),
                  fmt::format("one of {}", fmt::join(enum_names<Topology>(), ", ")),
                  did_you_mean(*word, enum_names<Topology>()));
  }
  platform.network.topology = *topology;
}

void read_rates(MachineReader& reader,
                const std::string& pointer,
                std::array<FlopRate, data_type_count>& rates) {
  for (const std::string& type : enum_names<DataType>()) {
    const auto rate = reader.number(fmt::format("{}/{}", pointer, type), rate_tflop_per_s);
    if (rate) rates[static_cast<std::size_t>(enum_value<DataType>(type))] = FlopRate{*rate * 1e12};
  }
}

/// The thread block that computes a tile: given with all three numbers, or not at all.
BlockShape read_block_shape(MachineReader& reader, const std::string& tile) {
  const std::vector<std::string> keys = reader.children(tile);
  const auto given = [&](std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (!given("threads") && !given("registers") && !given("shared_memory_bytes")) return {};
  BlockShape block;
  block.threads = static_cast<std::uint16_t>(reader.bare_number(tile + "/threads", block_threads));
  block.registers =
      static_cast<std::uint16_t>(reader.bare_number(tile + "/registers", block_registers));
  block.shared_memory =
      static_cast<std::uint32_t>(reader.bare_number(tile + "/shared_memory_bytes", block_bytes));
  return block;
}

void read_tiles(MachineReader& reader, const std::string& list, std::vector<GemmTile>& tiles) {
  for (const std::string& index : reader.children(list)) {
    const std::string pointer = fmt::format("{}/{}", list, index);
    const std::size_t first = reader.sources().size();
    GemmTile tile;
    tile.m = static_cast<std::int64_t>(reader.bare_number(pointer + "/m", tile_side));
    tile.n = static_cast<std::int64_t>(reader.bare_number(pointer + "/n", tile_side));
    tile.efficiency = reader.bare_number(pointer + "/efficiency", efficiency);
    tile.block = read_block_shape(reader, pointer);
    reader.origin_for(pointer, first);
    tiles.push_back(tile);
  }
}

void read_protocols(MachineReader& reader, CollectiveCosts& costs) {
  costs.ring_protocols =
      read_parameter_list(reader, "/network/ring_protocols", protocol_parameters());
  costs.pairwise_protocols =
      read_parameter_list(reader, "/network/pairwise_protocols", protocol_parameters());
  costs.in_switch = read_parameters(reader, "/network/in_switch", switch_parameters());
  costs.dispatch = read_parameters(reader, "/network/expert_dispatch", expert_parameters());
  costs.combine = read_parameters(reader, "/network/expert_combine", expert_parameters());
}

/// Of no meaning for costs: what executes plans finds them among the sources.
void read_library_parameters(MachineReader& reader) {
  constexpr NumberRange parameter{0, 1 << 24, true};
  for (const std::string& kernel : reader.children("/device/clblast")) {
    for (const std::string& name : reader.children("/device/clblast/" + kernel)) {
      static_cast<void>(
          reader.number(fmt::format("/device/clblast/{}/{}", kernel, name), parameter));
    }
  }
}

/// Units of the class that runs `kind`, 0 if it is unlimited.
std::uint32_t units_for(const Device& device, TaskKind kind) {
  const UnitClassId id = device.unit_class_of[static_cast<std::size_t>(kind)];
  return id.valid() ? device.unit_classes[id].count : 0;
}

std::string read_machine_file(const std::string& path) {
  try {
    return read_file(path);
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    if (problem.hint.empty()) {
      problem.hint =
          fmt::format("the machines that need no file are {}", fmt::join(machine_names(), ", "));
    }
    throw InputError(std::move(problem));
  }
}

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const MachineText& machine : machine_texts()) names.emplace_back(machine.name);
  return names;
}

std::string_view machine_text(std::string_view name) {
  for (const MachineText& machine : machine_texts()) {
    if (machine.name == name) return machine.text;
  }
  SCHEDLAB_EXPECTS(false, fmt::format("unknown machine \"{}\"", name));
  return {};
}

MachineSpec read_machine(std::string_view text, const std::string& file) {
  MachineReader reader{json_leaves(text, file), file};
  MachineSpec machine;
  machine.name = reader.required_text("/name", "the machine's name");
  machine.description = reader.text("/description").value_or("");
  machine.platform.name = machine.name;
  Device& device = machine.platform.devices[DeviceId{0}];
  device.name = reader.required_text("/device/name", "the device's name");
  for (const MachineNumber& field : machine_numbers()) {
    const auto value = reader.number(fmt::format("/{}/{}", field.section, field.name),
                                     {field.minimum, field.maximum, field.integer});
    if (value) field.set(machine.platform, *value);
  }
  read_unit_classes(reader, device);
  read_runs_on(reader, device);
  read_sharing(reader, machine.platform);
  read_topology(reader, machine.platform);
  device.rates.matrix_units = units_for(device, TaskKind::gemm);
  device.rates.vector_units = units_for(device, TaskKind::pointwise);
  read_rates(reader, "/device/matrix_tflop_per_s", device.rates.matrix);
  read_rates(reader, "/device/vector_tflop_per_s", device.rates.vector);
  read_tiles(reader, "/device/gemm_tiles", device.rates.gemm_tiles);
  read_tiles(reader, "/device/conv_tiles", device.rates.conv_tiles);
  const std::string attention = "/device/attention";
  device.profile = read_profile(
      reader,
      {.libraries = read_matrix_libraries(reader, device.rates.gemm_tiles),
       .context = read_parameters(reader, attention + "/context", context_parameters()),
       .generation = read_parameters(reader, attention + "/generation", generation_parameters())});
  read_protocols(reader, machine.platform.network.collectives);
  read_library_parameters(reader);
  reader.refuse_the_rest();
  machine.sources = std::move(reader.sources());
  return machine;
}

MachineSpec load_machine(std::string_view name_or_path) {
  const std::vector<std::string> names = machine_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    return read_machine(machine_text(name_or_path), fmt::format("machine {}", name_or_path));
  }
  const std::string path{name_or_path};
  if (path.find('/') != std::string::npos || path.ends_with(".json")) {
    return read_machine(read_machine_file(path), path);
  }
  throw InputError({.file = {},
                    .pointer = "/machine",
                    .found = fmt::format("the unknown machine \"{}\"", path),
                    .expected = fmt::format("one of {}, or the path of a machine file (.json)",
                                            fmt::join(names, ", ")),
                    .hint = did_you_mean(path, names)});
}

}  // namespace schedlab
