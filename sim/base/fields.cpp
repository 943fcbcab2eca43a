// SPDX-License-Identifier: Apache-2.0
#include "sim/base/fields.hpp"

namespace schedlab {
namespace {

using schema::Json;

bool is_empty(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty();
  if (const auto* json = std::get_if<Json>(&value)) return json->empty();
  return false;
}

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(Duration time) const { return static_cast<double>(time.count()) / 1e6; }
  Json operator()(const Json& json) const { return json; }
  template <class Plain>
  Json operator()(const Plain& plain) const {
    return plain;
  }
};

}  // namespace

Json json_of(const FieldValue& value) {
  return std::visit(ToJson{}, value);
}

namespace field_detail {

void add_fields(Json& object, const std::vector<Field>& fields, const void* of) {
  for (const Field& field : fields) {
    if ((field.notes.places & in_files) == 0) continue;
    const FieldValue value = field.value(of);
    if (!std::holds_alternative<std::monostate>(value)) object[field.name] = json_of(value);
  }
}

Json object_of(const std::vector<Field>& fields, const void* of) {
  Json object = Json::object();
  add_fields(object, fields, of);
  return object;
}

Json schema_of(const std::vector<Field>& fields, std::string_view doc) {
  Json properties = Json::object();
  std::vector<std::string> required;
  for (const Field& field : fields) {
    if ((field.notes.places & in_files) == 0) continue;
    properties[field.name] = field.type;
    if (!field.notes.doc.empty()) properties[field.name]["description"] = field.notes.doc;
    if (field.always) required.push_back(field.name);
  }
  return schema::object(properties, required, doc);
}

Field noted(Field field, const FieldNotes& notes) {
  if (notes.from_zero) field.type["minimum"] = 0;
  if (!notes.words.empty()) {
    field.type["enum"] = std::vector<std::string>(notes.words.begin(), notes.words.end());
  }
  if (notes.or_null) {
    field.type["type"] = Json::array({field.type.at("type"), "null"});
    field.always = true;
    field.value = [value = std::move(field.value)](const void* of) -> FieldValue {
      FieldValue held = value(of);
      if (std::holds_alternative<std::monostate>(held)) return Json(nullptr);
      return held;
    };
  }
  if (notes.unless_empty) {
    field.always = false;
    field.value = [value = std::move(field.value)](const void* of) -> FieldValue {
      FieldValue held = value(of);
      if (is_empty(held)) return std::monostate{};
      return held;
    };
  }
  return field;
}

Json list_type(const Json& item) {
  return {{"type", "array"}, {"items", item}};
}

}  // namespace field_detail
}  // namespace schedlab
