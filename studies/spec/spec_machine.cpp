// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/spec_machine.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json rebased_machine(const Json& machine, const std::string& file) {
  const bool overrides =
      machine.is_array() &&
      std::any_of(machine.begin(), machine.end(), [](const auto& one) { return one.is_object(); });
  if (overrides) {
    auto all = Json::array();
    for (const auto& one : machine) all.push_back(rebased_machine(one, file));
    return all;
  }
  if (!machine.is_object()) return file;
  Json made{{"path", file}};
  for (const auto& [key, value] : machine.items()) {
    if (key != "base" && key != "path") made[key] = value;
  }
  return made;
}

}  // namespace

std::string text_on_machine(const std::string& spec, const std::string& file) {
  Json json = Json::parse(spec);
  json["machine"] =
      rebased_machine(json.value("machine", Json{}), std::filesystem::absolute(file).string());
  return json.dump(2);
}

}  // namespace schedlab
