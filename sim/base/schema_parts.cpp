// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab::schema {
namespace {

/// A whole bound is written as an integer, so that messages say "at least 1".
Json bound(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

Json text(std::string_view doc) {
  return Json{{"type", "string"}, {"description", doc}};
}

Json flag(std::string_view doc) {
  return Json{{"type", "boolean"}, {"description", doc}};
}

Json word(const std::vector<std::string>& allowed, std::string_view doc) {
  return Json{{"type", "string"}, {"enum", allowed}, {"description", doc}};
}

Json integer(std::int64_t least, std::int64_t most, std::string_view doc) {
  return Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", doc}};
}

Json number(std::string_view doc) {
  return Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1e12}, {"description", doc}};
}

Json value_of(const OptionSpec& option) {
  Json schema;
  const OptionValue& value = option.default_value;
  if (std::holds_alternative<bool>(value)) {
    schema["type"] = "boolean";
  } else if (std::holds_alternative<std::int64_t>(value)) {
    schema["type"] = "integer";
  } else if (std::holds_alternative<double>(value)) {
    schema["type"] = "number";
  } else {
    schema["type"] = "string";
    if (!option.allowed.empty()) schema["enum"] = option.allowed;
  }
  if (std::isfinite(option.minimum)) schema["minimum"] = bound(option.minimum);
  if (std::isfinite(option.maximum)) schema["maximum"] = bound(option.maximum);
  return schema;
}

Json list(const Json& items, std::string_view doc) {
  Json schema{{"type", "array"}, {"items", items}, {"minItems", 1}};
  if (!doc.empty()) schema["description"] = doc;
  return schema;
}

Json one_or_more(const Json& item) {
  return Json{{"anyOf", Json::array({item, list(item)})}};
}

Json object(const Json& properties,
            const std::vector<std::string>& required,
            std::string_view doc) {
  Json schema{{"type", "object"},
              {"properties", properties},
              {"required", required},
              {"additionalProperties", false}};
  if (!doc.empty()) schema["description"] = doc;
  return schema;
}

Json whole_object(const Json& properties, const std::vector<std::string>& optional) {
  std::vector<std::string> required;
  for (const auto& [key, ignored] : properties.items()) {
    if (std::find(optional.begin(), optional.end(), key) == optional.end()) required.push_back(key);
  }
  return object(properties, required);
}

Json document(std::string_view title, const Json& object) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(object);
  return schema;
}

Json file(std::string_view title, std::string_view word, const Json& object) {
  Json properties{{"schedlab", {{"const", word}}}, {"version", {{"const", 1}}}};
  properties.update(object.at("properties"));
  Json required = Json::array({"schedlab", "version"});
  for (const Json& key : object.at("required")) required.push_back(key);
  Json schema = document(title, object);
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  return schema;
}

}  // namespace schedlab::schema
