// SPDX-License-Identifier: Apache-2.0
#include "hw_models/host_spec.hpp"

#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_reader.hpp"
#include "hw_models/machine_texts.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::string_view own_host = "own";

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

}  // namespace schedlab
