// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fitted_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json number_schema(const ParameterInfo& info) {
  Json schema{{"type", info.integer ? "integer" : "number"},
              {"minimum", whole_or_real(info.minimum)},
              {"maximum", whole_or_real(info.maximum)}};
  return schema;
}

}  // namespace

nlohmann::ordered_json whole_or_real(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  const auto whole = static_cast<std::int64_t>(std::clamp(value, -exact, exact));
  if (static_cast<double>(whole) == value) return whole;
  return value;
}

FittedParameters read_parameters(MachineReader& reader,
                                 const std::string& at,
                                 std::span<const ParameterInfo> infos) {
  FittedParameters fitted;
  if (reader.children(at).empty()) return fitted;
  const std::size_t first = reader.sources().size();
  for (const ParameterInfo& info : infos) {
    const NumberRange range{info.minimum, info.maximum, info.integer};
    const std::string key = fmt::format("{}/{}", at, info.name);
    FittedValue value;
    if (info.integer) {
      value.value = reader.bare_number(key, range);
      value.low = value.high = value.value;
    } else {
      value.value = reader.plain_number(key + "/value", range);
      value.low = reader.plain_number(key + "/low", range);
      value.high = reader.plain_number(key + "/high", range);
      reader.sources().push_back(
          {.pointer = key, .value = value.value, .text = {}, .low = value.low, .high = value.high});
    }
    fitted.values.push_back(value);
  }
  reader.origin_for(at, first);
  const NumberSource& origin = reader.sources().at(first);
  if (origin.origin != Origin::fitted) {
    reader.reject(at, "numbers that were not fitted", "\"fitted\": to what, when and how");
  }
  fitted.source = origin.text;
  return fitted;
}

std::vector<FittedParameters> read_parameter_list(MachineReader& reader,
                                                  const std::string& at,
                                                  std::span<const ParameterInfo> infos) {
  std::vector<FittedParameters> list;
  for (const std::string& index : reader.children(at)) {
    list.push_back(read_parameters(reader, fmt::format("{}/{}", at, index), infos));
  }
  return list;
}

Json parameters_json(const FittedParameters& fitted, std::span<const ParameterInfo> infos) {
  Json json = Json::object();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const FittedValue& value = fitted.values[i];
    Json& entry = json[std::string{infos[i].name}];
    if (infos[i].integer) {
      entry = whole_or_real(value.value);
    } else {
      entry = {{"value", whole_or_real(value.value)},
               {"low", whole_or_real(value.low)},
               {"high", whole_or_real(value.high)}};
    }
  }
  json["fitted"] = fitted.source;
  return json;
}

Json parameters_schema(std::span<const ParameterInfo> infos) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const ParameterInfo& info : infos) {
    const std::string name{info.name};
    Json& entry = properties[name];
    if (info.integer) {
      entry = number_schema(info);
    } else {
      const Json one = number_schema(info);
      entry = {{"type", "object"},
               {"properties", {{"value", one}, {"low", one}, {"high", one}}},
               {"additionalProperties", false},
               {"required", {"value", "low", "high"}}};
    }
    entry["description"] = std::string{info.meaning};
    required.push_back(name);
  }
  properties["fitted"] = {{"type", "string"}, {"minLength", 1}};
  required.push_back("fitted");
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"additionalProperties", false},
          {"required", std::move(required)}};
}

}  // namespace schedlab
