// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/schema_parts.hpp"
#include "sim/base/units.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace schedlab {

/// What one field of an object holds; monostate: the object has no such field. A Duration is
/// written in microseconds, exactly.
using FieldValue = std::variant<std::monostate,
                                bool,
                                std::int64_t,
                                std::uint64_t,
                                double,
                                Duration,
                                std::string,
                                schema::Json>;

/// What a field appears in.
enum FieldPlace : unsigned { in_files = 1, in_tables = 2, in_samples = 4 };

/// What its name and value do not say of a field.
struct FieldNotes {
  std::string_view doc{};                     ///< one sentence, without a capital
  unsigned places = in_files | in_tables;     ///< of FieldPlace
  bool from_zero = false;                     ///< a number that is never negative
  bool or_null = false;                       ///< null where there is no value; else no key
  bool unless_empty = false;                  ///< a text or list that has no key when empty
  std::span<const std::string_view> words{};  ///< the only texts that it holds
};
inline constexpr FieldNotes from_zero{.from_zero = true};
inline constexpr FieldNotes or_null{.or_null = true};
inline constexpr FieldNotes unless_empty{.unless_empty = true};
inline constexpr FieldNotes files_only{.places = in_files};
inline constexpr FieldNotes tables_only{.places = in_tables};

/// One field of a struct whose type only Fields knows.
struct Field {
  std::string name;  ///< in files and tables, with its unit
  schema::Json type;
  FieldNotes notes;
  bool always = true;  ///< every object has it
  std::function<FieldValue(const void* object)> value;
};

/// Doc text of the exact twin of a time.
[[nodiscard]] constexpr std::string_view exact_doc(const FieldNotes& notes) {
  return notes.doc.empty() ? "" : "the same, exact";
}

/// As JSON; null where there is none.
[[nodiscard]] schema::Json json_of(const FieldValue& value);

namespace field_detail {

template <class Value>
inline constexpr bool is_optional = false;
template <class Value>
inline constexpr bool is_optional<std::optional<Value>> = true;
template <class Value>
concept Text = std::convertible_to<const Value&, std::string_view>;
template <class Value>
concept List =
    std::ranges::input_range<const Value> && !Text<Value> && !std::same_as<Value, schema::Json>;

void add_fields(schema::Json& object, const std::vector<Field>& fields, const void* of);
[[nodiscard]] schema::Json object_of(const std::vector<Field>& fields, const void* of);
[[nodiscard]] schema::Json schema_of(const std::vector<Field>& fields, std::string_view doc);
/// With the notes in its type and in what it gives.
[[nodiscard]] Field noted(Field field, const FieldNotes& notes);
[[nodiscard]] schema::Json list_type(const schema::Json& item);

/// What a file says of a value: `object` makes nested structs JSON.
template <class Value, class Object>
FieldValue value_of(const Value& value, const Object& object) {
  if constexpr (is_optional<Value>) {
    return value ? value_of(*value, object) : FieldValue{};
  } else if constexpr (std::same_as<Value, bool> || std::same_as<Value, double> ||
                       std::same_as<Value, Duration> || std::same_as<Value, schema::Json>) {
    return value;
  } else if constexpr (std::same_as<Value, Bytes>) {
    return value.count();
  } else if constexpr (std::signed_integral<Value>) {
    return std::int64_t{value};
  } else if constexpr (std::unsigned_integral<Value>) {
    return std::uint64_t{value};
  } else if constexpr (NamedEnum<Value>) {
    return std::string{to_string(value)};
  } else if constexpr (Text<Value>) {
    return std::string{std::string_view{value}};
  } else if constexpr (List<Value>) {
    schema::Json list = schema::Json::array();
    for (const auto& item : value) list.push_back(json_of(value_of(item, object)));
    return list;
  } else {
    return object(value);
  }
}

/// The schema of such a value.
template <class Value>
schema::Json type_of(const schema::Json& object) {
  if constexpr (is_optional<Value>) {
    return type_of<typename Value::value_type>(object);
  } else if constexpr (std::same_as<Value, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::same_as<Value, double> || std::same_as<Value, Duration>) {
    return {{"type", "number"}};
  } else if constexpr (std::same_as<Value, Bytes> || std::unsigned_integral<Value>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::signed_integral<Value>) {
    return {{"type", "integer"}};
  } else if constexpr (NamedEnum<Value>) {
    return {{"type", "string"}, {"enum", enum_names<Value>()}};
  } else if constexpr (Text<Value>) {
    return {{"type", "string"}};
  } else if constexpr (List<Value>) {
    return list_type(type_of<std::ranges::range_value_t<const Value>>(object));
  } else {
    return object;
  }
}

/// What a getter gives, and what that holds if it is optional.
template <class T, class Get>
using Gives = std::remove_cvref_t<std::invoke_result_t<const Get&, const T&>>;
template <class Value>
struct Held {
  using Type = Value;
};
template <class Value>
struct Held<std::optional<Value>> {
  using Type = Value;
};
template <class Value>
requires List<Value>
struct Held<Value> {
  using Type = std::ranges::range_value_t<const Value>;
};

}  // namespace field_detail

/// The fields of a struct, in the order of its files. A struct is described once, by such a list;
/// its JSON, the schema of that and the columns of its tables follow. A list is made of fields and
/// of other lists:
///   const Fields<Run> run_fields{{"scenario", &Run::scenario},
///                                {"mean_us", &Run::mean, from_zero},
///                                {"error", error_of, or_null},
///                                {"tasks", &Run::tasks, task_fields()},
///                                when<Run>(&Run::compared, {{"spread", &Run::spread}})};
/// A getter is a member or a function of the object. It gives a number, text, time, enumeration
/// with names, a list or optional of these, or, with the fields of a further struct, that struct.
template <class T>
class Fields {
 public:
  template <class Get>
  requires std::invocable<const Get&, const T&> Fields(std::string name,
                                                       Get get,
                                                       const FieldNotes& notes = {}) {
    using Value = field_detail::Gives<T, Get>;
    add(std::move(name), field_detail::type_of<Value>({}), notes, get, nullptr);
  }
  template <class Get, class Part>
  requires std::invocable<const Get&, const T&> Fields(std::string name,
                                                       Get get,
                                                       const Fields<Part>& part,
                                                       const FieldNotes& notes = {}) {
    using Value = field_detail::Gives<T, Get>;
    add(std::move(name),
        field_detail::type_of<Value>(part.schema()),
        notes,
        get,
        [part](const Part& of) { return part.json(of); });
  }
  Fields(std::initializer_list<Fields> parts) {
    for (const Fields& part : parts) fields_.insert(fields_.end(), part.begin(), part.end());
  }
  explicit Fields(std::vector<Field> fields) : fields_(std::move(fields)) {}

  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }

  [[nodiscard]] schema::Json json(const T& of) const {
    return field_detail::object_of(fields_, &of);
  }
  void add_to(schema::Json& object, const T& of) const {
    field_detail::add_fields(object, fields_, &of);
  }
  [[nodiscard]] schema::Json schema(std::string_view doc = {}) const {
    return field_detail::schema_of(fields_, doc);
  }
  /// With more fields behind the one of that name.
  [[nodiscard]] Fields after(std::string_view name, const Fields& more) const {
    std::vector<Field> all = fields_;
    const auto found = std::ranges::find(all, name, &Field::name);
    SCHEDLAB_EXPECTS(found != all.end(), "no field " + std::string{name});
    all.insert(found + 1, more.begin(), more.end());
    return Fields{std::move(all)};
  }
  /// Those that appear in a place.
  [[nodiscard]] Fields in(FieldPlace place) const {
    std::vector<Field> there;
    for (const Field& field : fields_) {
      if ((field.notes.places & place) != 0) there.push_back(field);
    }
    return Fields{std::move(there)};
  }

 private:
  template <class Get, class Object>
  void add(std::string name,
           schema::Json type,
           const FieldNotes& notes,
           const Get& get,
           const Object& object) {
    fields_.push_back(field_detail::noted(
        {.name = std::move(name),
         .type = std::move(type),
         .notes = notes,
         .always = !field_detail::is_optional<field_detail::Gives<T, Get>>,
         .value =
             [get, object](const void* of) {
               return field_detail::value_of(std::invoke(get, *static_cast<const T*>(of)), object);
             }},
        notes));
  }

  std::vector<Field> fields_;
};

/// Fields that only some objects have.
template <class T, class Test>
[[nodiscard]] Fields<T> when(Test test, const Fields<T>& fields) {
  std::vector<Field> all(fields.begin(), fields.end());
  for (Field& field : all) {
    field.always = false;
    field.value = [test, value = std::move(field.value)](const void* of) {
      return std::invoke(test, *static_cast<const T*>(of)) ? value(of) : FieldValue{};
    };
  }
  return Fields<T>{std::move(all)};
}

/// The fields of a part, or of a part that may be absent, as if they were the whole's.
template <class T,
          class Get,
          class Part = typename field_detail::Held<field_detail::Gives<T, Get>>::Type>
[[nodiscard]] Fields<T> inlined(Get get, const Fields<std::type_identity_t<Part>>& fields) {
  using Given = field_detail::Gives<T, Get>;
  std::vector<Field> all(fields.begin(), fields.end());
  for (Field& field : all) {
    if constexpr (field_detail::is_optional<Given>) field.always = false;
    field.value = [get, value = std::move(field.value)](const void* of) {
      const auto& part = std::invoke(get, *static_cast<const T*>(of));
      if constexpr (field_detail::is_optional<Given>) {
        return part ? value(&*part) : FieldValue{};
      } else {
        return value(&part);
      }
    };
  }
  return Fields<T>{std::move(all)};
}

/// Fields whose getters give JSON of this type.
template <class T>
[[nodiscard]] Fields<T> of_type(const schema::Json& type, const Fields<T>& fields) {
  std::vector<Field> all(fields.begin(), fields.end());
  for (Field& field : all) field.type = type;
  return Fields<T>{std::move(all)};
}

/// The fields that `make` gives for the name and value of each word of an enumeration.
template <NamedEnum Word, class T, class Make>
[[nodiscard]] Fields<T> for_each_name(const Make& make) {
  Fields<T> all{};
  for (const std::string& name : enum_names<Word>()) {
    all = Fields<T>{all, make(name, enum_value<Word>(name))};
  }
  return all;
}

/// A getter of the object itself, for fields that a file keeps in an object of their own.
inline constexpr auto itself = [](const auto& of) -> const auto& {
  return of;
};

/// A time twice: NAME_us for people and, in files alone, NAME_ps, exact.
template <class T, class Get>
[[nodiscard]] Fields<T> time_fields(const std::string& name,
                                    Get get,
                                    const FieldNotes& notes = {}) {
  const auto picoseconds = [get](const T& of) { return std::invoke(get, of).count(); };
  return {{name + "_us", get, notes},
          {name + "_ps", picoseconds, {.doc = exact_doc(notes), .places = in_files}}};
}

/// A getter of what `get` gives in microseconds, as to_us() rounds them.
template <class Get>
[[nodiscard]] auto in_us(Get get) {
  return [get](const auto& of) { return to_us(std::invoke(get, of)); };
}

/// A part together with what it is a part of, where a field of the part needs both.
template <class Whole, class Part>
struct PartOf {
  const Whole& whole;
  const Part& part;
};
/// Each item of a list, likewise.
template <class Whole, class Items>
[[nodiscard]] auto parts_of(const Whole& whole, const Items& items) {
  std::vector<PartOf<Whole, std::ranges::range_value_t<const Items>>> parts;
  for (const auto& item : items) parts.push_back({whole, item});
  return parts;
}

}  // namespace schedlab
