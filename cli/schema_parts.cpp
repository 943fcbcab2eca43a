// SPDX-License-Identifier: Apache-2.0
#include "cli/schema_parts.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab::schema {

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
  return Json{{"type", "object"},
              {"properties", properties},
              {"required", required},
              {"additionalProperties", false},
              {"description", doc}};
}

Json whole_object(const Json& properties) {
  Json required = Json::array();
  for (const auto& [key, ignored] : properties.items()) required.push_back(key);
  return Json{{"type", "object"},
              {"properties", properties},
              {"required", std::move(required)},
              {"additionalProperties", false}};
}

Json file(std::string_view title, std::string_view word, const Json& object) {
  Json properties{{"schedlab", {{"const", word}}}, {"version", {{"const", 1}}}};
  properties.update(object.at("properties"));
  Json required = Json::array({"schedlab", "version"});
  for (const Json& key : object.at("required")) required.push_back(key);
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(object);
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  return schema;
}

}  // namespace schedlab::schema
