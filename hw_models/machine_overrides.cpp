// SPDX-License-Identifier: Apache-2.0
#include "hw_models/host_spec.hpp"
#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/node_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/task.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::string_view unlimited_units_name = "unlimited_units";
constexpr std::string_view units_name = "units";
constexpr std::string_view host_word = "host";
constexpr std::string_view node_word = "node";
constexpr std::string_view sharing = "sharing";
constexpr std::string_view topology = "topology";

/// "matrix_fp32_tflop_per_s": one of the rates that a machine file has by type.
struct RateOption {
  std::string name;
  std::string pointer;
  bool matrix = false;
  std::size_t type = 0;
};

const std::vector<RateOption>& rate_options() {
  static const std::vector<RateOption> all = [] {
    std::vector<RateOption> rates;
    for (const char* kind : {"matrix", "vector"}) {
      for (std::size_t i = 0; i < data_type_count; ++i) {
        const std::string_view type = to_string(static_cast<DataType>(i));
        rates.push_back({fmt::format("{}_{}_tflop_per_s", kind, type),
                         fmt::format("/device/{}_tflop_per_s/{}", kind, type),
                         kind == std::string_view{"matrix"},
                         i});
      }
    }
    return rates;
  }();
  return all;
}

void note(MachineSpec& machine, std::string pointer, double value) {
  note_source(machine,
              {.pointer = std::move(pointer),
               .value = value,
               .origin = Origin::assumed,
               .text = "set by the scenario"});
}

/// Of a few that are given: comparing lengths first is faster than searching the map.
bool is_given(const std::map<std::string, OptionValue>& given, std::string_view name) {
  return std::any_of(given.begin(), given.end(), [&](const auto& g) { return g.first == name; });
}

/// Of all options those that are given, which is much faster to check; all, if one is unknown.
std::vector<OptionSpec> options_to_check(const std::map<std::string, OptionValue>& given) {
  std::vector<OptionSpec> used;
  for (const OptionSpec& option : machine_options()) {
    if (is_given(given, option.name)) used.push_back(option);
  }
  return used.size() == given.size() ? used : machine_options();
}

void set_rates(MachineSpec& machine,
               const Options& options,
               const std::map<std::string, OptionValue>& given) {
  DeviceRates& rates = machine.platform.devices[DeviceId{0}].rates;
  for (const RateOption& option : rate_options()) {
    if (!is_given(given, option.name)) continue;
    const double value = options.number(option.name);
    (option.matrix ? rates.matrix : rates.vector).at(option.type) = FlopRate{value * 1e12};
    note(machine, option.pointer, value);
  }
}

void lift_unit_limits(MachineSpec& machine) {
  for (UnitClass& unit_class : machine.platform.devices[DeviceId{0}].unit_classes) {
    unit_class.count = 0;  // the cost models keep rates.matrix_units and rates.vector_units
    note(machine, "/device/unit_classes/" + unit_class.name, 0);
  }
}

/// The number of units that matrix products run on.
void set_units(MachineSpec& machine, std::uint32_t count) {
  Device& device = machine.platform.devices[DeviceId{0}];
  const UnitClassId units = device.unit_class_of[static_cast<std::size_t>(TaskKind::gemm)];
  if (!units.valid()) {
    throw InputError(
        {.file = {},
         .pointer = fmt::format("/{}", units_name),
         .found = fmt::format("machine {}, whose matrix products run on no units", machine.name),
         .expected = "a machine with units",
         .hint = "use the machine \"processors\", or give unit_classes and runs_on in a file"});
  }
  device.unit_classes[units].count = count;
  device.rates.matrix_units = count;
  if (device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] == units) {
    device.rates.vector_units = count;
  }
  note(machine, "/device/unit_classes/" + device.unit_classes[units].name, count);
}

}  // namespace

void note_source(MachineSpec& machine, NumberSource source) {
  const auto found =
      std::find_if(machine.sources.begin(), machine.sources.end(), [&](const NumberSource& s) {
        return s.pointer == source.pointer;
      });
  if (found != machine.sources.end()) {
    *found = std::move(source);
  } else {
    machine.sources.push_back(std::move(source));
  }
}

void set_numbers(MachineSpec& machine, const std::vector<NumberSource>& numbers) {
  for (const NumberSource& number : numbers) {
    for (const MachineNumber& field : machine_numbers()) {
      if (number.pointer != fmt::format("/{}/{}", field.section, field.name)) continue;
      field.set(machine.platform, number.value);
    }
    note_source(machine, number);
  }
}

const std::vector<OptionSpec>& machine_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> result;
    for (const MachineNumber& field : machine_numbers()) {
      result.push_back(
          {.name = std::string{field.name},
           .default_value = field.integer ? OptionValue{std::int64_t{0}} : OptionValue{0.0},
           .doc = std::string{field.doc},
           .minimum = field.minimum,
           .maximum = field.maximum});
    }
    result.push_back({.name = std::string{units_name},
                      .default_value = std::int64_t{1},
                      .doc =
                          "Units that matrix products run on (SMs, cores, processors); rates are "
                          "those of the whole device and stay.",
                      .minimum = 1,
                      .maximum = 1'000'000});
    constexpr double largest_rate = 1e9;
    for (const RateOption& rate : rate_options()) {
      result.push_back({.name = rate.name,
                        .default_value = 0.0,
                        .doc = fmt::format("Dense peak of {} kernels in {}, as in a data sheet.",
                                           rate.matrix ? "matrix" : "point-wise",
                                           to_string(static_cast<DataType>(rate.type))),
                        .minimum = 0,
                        .maximum = largest_rate});
    }
    result.push_back(
        {.name = std::string{unlimited_units_name},
         .default_value = false,
         .doc = "Takes the limit off every class of units: each kernel runs as if alone."});
    result.push_back({.name = std::string{host_word},
                      .default_value = host_names().front(),
                      .doc = "What a framework costs the host (schedlab list hosts); own: what the "
                             "machine's file says.",
                      .allowed = host_names()});
    result.push_back({.name = std::string{node_word},
                      .default_value = node_names().front(),
                      .doc = "How devices and nodes are connected (schedlab list nodes); own: what "
                             "the machine's file says.",
                      .allowed = node_names()});
    result.push_back({.name = std::string{sharing},
                      .default_value = std::string{to_string(SharingModel::exclusive)},
                      .doc = "How kernels share units: exclusive (whole units, start to end), "
                             "fluid (block by block) or blocks (placed on single units).",
                      .allowed = enum_names<SharingModel>()});
    result.push_back({.name = std::string{topology},
                      .default_value = std::string{to_string(Topology::none)},
                      .doc = "How the nodes of several ranks are connected with each other.",
                      .allowed = enum_names<Topology>()});
    return result;
  }();
  return options;
}

void apply_overrides(MachineSpec& machine, const std::map<std::string, OptionValue>& given) {
  if (given.empty()) return;
  const Options options =
      resolve_options(fmt::format("machine {}", machine.name), options_to_check(given), given);
  if (is_given(given, host_word)) apply_host(machine, options.text(host_word));
  if (is_given(given, node_word)) apply_node(machine, options.text(node_word));
  for (const MachineNumber& field : machine_numbers()) {
    // A sweep changes one or two of many numbers, for each of its machines.
    if (!is_given(given, field.name)) continue;
    const double value = field.integer ? static_cast<double>(options.integer(field.name))
                                       : options.number(field.name);
    field.set(machine.platform, value);
    note(machine, fmt::format("/{}/{}", field.section, field.name), value);
  }
  if (is_given(given, units_name)) {
    set_units(machine, static_cast<std::uint32_t>(options.integer(units_name)));
  }
  set_rates(machine, options, given);
  if (is_given(given, unlimited_units_name) && options.flag(unlimited_units_name)) {
    lift_unit_limits(machine);
  }
  if (is_given(given, sharing)) {
    machine.platform.sharing = *enum_from<SharingModel>(options.text(sharing));
  }
  if (is_given(given, topology)) {
    machine.platform.network.topology = *enum_from<Topology>(options.text(topology));
  }
}

}  // namespace schedlab
