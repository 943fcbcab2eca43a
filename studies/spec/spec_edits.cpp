// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/spec_edits.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// A machine by name or by file is an object with one of these keys.
Json machine_object(const Json& machine) {
  if (!machine.is_string()) return machine;
  const auto name = machine.get<std::string>();
  const bool is_file = name.ends_with(".json");
  return {{is_file ? "path" : "base", name}};
}

void set_data_type(Json& workload, std::string_view data_type, const std::string& file) {
  if (workload.is_array()) {
    for (Json& one : workload) set_data_type(one, data_type, file);
    return;
  }
  if (!workload.is_object()) {
    throw InputError({.file = file,
                      .pointer = "/workload",
                      .found = workload.is_null() ? "no workload" : workload.dump(),
                      .expected = "workloads with a data_type, to be given another",
                      .hint = "leave out --precision"});
  }
  workload["data_type"] = data_type;
}

void set_connections(Json& machine, std::uint32_t connections) {
  if (machine.is_array()) {
    for (Json& one : machine) set_connections(one, connections);
    return;
  }
  machine = machine_object(machine);
  machine["connections"] = connections;
}

}  // namespace

std::string text_with_data_type(const std::string& spec,
                                std::string_view data_type,
                                const std::string& file) {
  Json json = Json::parse(spec);
  set_data_type(json["workload"], data_type, file);
  return json.dump(2);
}

std::string text_with_connections(const std::string& spec, std::uint32_t connections) {
  Json json = Json::parse(spec);
  set_connections(json["machine"], connections);
  return json.dump(2);
}

std::string text_with_launch(const std::string& spec, const std::string& launch) {
  Json json = Json::parse(spec);
  json["launch"] = launch;
  return json.dump(2);
}

}  // namespace schedlab
