// SPDX-License-Identifier: Apache-2.0
#include "hw_models/host_spec.hpp"

#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_reader.hpp"
#include "hw_models/machine_texts.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view own_host = "own";

constexpr std::array stages{"/host/front_end_us",
                            "/host/conversion_us",
                            "/host/shape_inference_us",
                            "/host/tiling_us",
                            "/host/allocation_us"};

std::optional<OperatorCostRange> read_operator_cost(MachineReader& reader) {
  const std::string pointer = "/operator_us";
  if (reader.children(pointer).empty()) return std::nullopt;
  const NumberRange range{0, 1e6};
  const std::size_t first = reader.sources().size();
  const double min_us = reader.bare_number(pointer + "/min", range);
  const double max_us = reader.bare_number(pointer + "/max", {min_us, range.maximum});
  reader.origin_for(pointer, first);
  OperatorCostRange result{min_us, max_us, reader.sources()[first].text};
  reader.sources().resize(first);
  return result;
}

}  // namespace

const std::vector<std::string>& host_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{std::string{own_host}};
    for (const MachineText& host : host_texts()) all.emplace_back(host.name);
    return all;
  }();
  return names;
}

HostSpec host_spec(std::string_view name) {
  const auto& texts = host_texts();
  const auto text = std::find_if(
      texts.begin(), texts.end(), [&](const MachineText& host) { return host.name == name; });
  SCHEDLAB_EXPECTS(text != texts.end(), fmt::format("unknown host \"{}\"", name));
  const std::string file = fmt::format("host {}", name);
  MachineReader reader{json_leaves(text->text, file), file};
  HostSpec host;
  host.name = reader.required_text("/name", "the host's name");
  host.description = reader.required_text("/description", "what it is, and for which launch mode");
  for (const MachineNumber& field : machine_numbers()) {
    if (field.section != "host") continue;
    static_cast<void>(reader.number(fmt::format("/host/{}", field.name),
                                    {field.minimum, field.maximum, field.integer}));
  }
  host.operator_cost = read_operator_cost(reader);
  reader.refuse_the_rest();
  host.numbers = std::move(reader.sources());
  return host;
}

void apply_host(MachineSpec& machine, std::string_view name) {
  if (name == own_host) return;
  for (const NumberSource& number : host_spec(name).numbers) {
    for (const MachineNumber& field : machine_numbers()) {
      if (number.pointer != fmt::format("/{}/{}", field.section, field.name)) continue;
      field.set(machine.platform, number.value);
    }
    note_source(machine, number);
  }
}

std::optional<HostSpec> host_in_use(const MachineSpec& machine) {
  const auto& have = machine.sources;
  for (const std::string& name : host_names()) {
    if (name == own_host) continue;
    HostSpec host = host_spec(name);
    if (std::all_of(host.numbers.begin(), host.numbers.end(), [&](const NumberSource& number) {
          return std::find(have.begin(), have.end(), number) != have.end();
        })) {
      return host;
    }
  }
  return std::nullopt;
}

Host with_operator_cost(Host host, const HostSpec& spec, double operator_us) {
  double prepared_us = 0;
  for (const NumberSource& number : spec.numbers) {
    if (std::find(stages.begin(), stages.end(), number.pointer) != stages.end()) {
      prepared_us += number.value;
    }
  }
  if (prepared_us <= 0) return host;
  const double launch_us = to_us(host.costs.launch) * host.operator_tasks;
  const double factor = std::max(0.0, operator_us - launch_us) / prepared_us;
  for (Duration* stage : {&host.costs.front_end,
                          &host.costs.conversion,
                          &host.costs.shape_inference,
                          &host.costs.tiling,
                          &host.costs.allocation}) {
    *stage = from_us(to_us(*stage) * factor);
  }
  return host;
}

}  // namespace schedlab
