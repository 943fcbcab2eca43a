// SPDX-License-Identifier: Apache-2.0
#include "hw_models/host_spec.hpp"

#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_reader.hpp"
#include "hw_models/machine_texts.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view own_host = "own";

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

HostSpec read_host(const MachineText& text) {
  const std::string file = fmt::format("host {}", text.name);
  MachineReader reader{json_leaves(text.text, file), file};
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

/// Read once: a sweep asks for them again and again.
const std::vector<HostSpec>& hosts() {
  static const std::vector<HostSpec> all = [] {
    std::vector<HostSpec> read;
    for (const MachineText& text : host_texts()) read.push_back(read_host(text));
    return read;
  }();
  return all;
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

const HostSpec& host_spec(std::string_view name) {
  const std::vector<HostSpec>& all = hosts();
  const auto host =
      std::find_if(all.begin(), all.end(), [&](const HostSpec& h) { return h.name == name; });
  SCHEDLAB_EXPECTS(host != all.end(), fmt::format("unknown host \"{}\"", name));
  return *host;
}

void apply_host(MachineSpec& machine, std::string_view name) {
  if (name == own_host) return;
  set_numbers(machine, host_spec(name).numbers);
}

const HostSpec* host_in_use(const MachineSpec& machine) {
  const auto& have = machine.sources;
  const auto found = std::find_if(hosts().begin(), hosts().end(), [&](const HostSpec& host) {
    return std::all_of(host.numbers.begin(), host.numbers.end(), [&](const NumberSource& number) {
      return std::find(have.begin(), have.end(), number) != have.end();
    });
  });
  return found == hosts().end() ? nullptr : &*found;
}

Host with_operator_cost(Host host, double operator_us) {
  HostCosts& costs = host.costs;
  const double prepared_us = to_us(costs.preparation());
  if (prepared_us <= 0) return host;
  const double launch_us = to_us(costs.launch) * host.operator_tasks;
  const double factor = std::max(0.0, operator_us - launch_us) / prepared_us;
  for (Duration* stage : {&costs.front_end,
                          &costs.conversion,
                          &costs.shape_inference,
                          &costs.tiling,
                          &costs.allocation}) {
    *stage = from_us(to_us(*stage) * factor);
  }
  return host;
}

}  // namespace schedlab
