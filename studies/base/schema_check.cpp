// SPDX-License-Identifier: Apache-2.0
#include "studies/base/schema_check.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;
using Verdict = std::optional<InputProblem>;  // nullopt: fits

constexpr std::size_t max_listed = 24;

/// Where the list is, if it is too long for the message.
std::string hint_of(const std::string& word, const Words& names) {
  std::string meant = did_you_mean(word, names);
  if (!meant.empty() || names.size() <= max_listed) return meant;
  return "schedlab list and schedlab schema have all of them";
}

InputProblem problem(const std::string& pointer,
                     std::string found,
                     std::string expected,
                     std::string hint = {}) {
  const std::string where = pointer.empty() ? "/" : pointer;
  return {{}, where, std::move(found), std::move(expected), std::move(hint)};
}

/// All names, or of very many those that are like the word: the closest spelling, then those that
/// share a part with it ("unit" of "sm_unit_count").
std::string allowed_names(const std::string& word, const Words& names) {
  constexpr std::size_t max_alike = 6;
  constexpr std::size_t shortest_part = 3;
  if (names.size() <= max_listed) return one_of(names);
  Words alike;
  const auto add = [&](const std::string& name) {
    if (alike.size() < max_alike && std::find(alike.begin(), alike.end(), name) == alike.end()) {
      alike.push_back(name);
    }
  };
  if (const std::string close = closest_spelling(word, names); !close.empty()) add(close);
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find('_', at), word.size());
    const std::string part = word.substr(at, end - at);
    at = end + 1;
    if (part.size() < shortest_part) continue;
    for (const std::string& name : names) {
      if (name.find(part) != std::string::npos) add(name);
    }
  }
  if (alike.empty()) return fmt::format("one of {} keys", names.size());
  return fmt::format(
      "one of {}, or of {} others", fmt::join(alike, ", "), names.size() - alike.size());
}

std::string_view type_names(const std::string& type) {
  if (type == "object") return "an object";
  if (type == "array") return "a list";
  if (type == "integer") return "an integer";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  if (type == "null") return "null";
  return "a string";
}

bool type_fits(JsonKind kind, const std::string& type) {
  constexpr std::array<std::string_view, 7> names{
      "null", "boolean", "integer", "number", "string", "array", "object"};
  return type == names[static_cast<std::size_t>(kind)] ||
         (kind == JsonKind::integer && type == "number");
}

/// The types a schema allows; empty if it does not say.
Words types_of(const json& schema) {
  const auto type = schema.find("type");
  if (type == schema.end()) return {};
  return type->is_array() ? type->get<Words>() : Words{type->get<std::string>()};
}

bool any_type_fits(JsonKind kind, const Words& types) {
  return std::any_of(
      types.begin(), types.end(), [&](const std::string& type) { return type_fits(kind, type); });
}

/// Of one of the types, or an integer that no integer type holds, so that it was read as a number.
bool could_fit(const JsonNode& node, const Words& types) {
  const bool huge_integer =
      node.kind == JsonKind::number &&
      std::get<double>(node.scalar) == std::trunc(std::get<double>(node.scalar));
  return any_type_fits(node.kind, types) ||
         (huge_integer && any_type_fits(JsonKind::integer, types));
}

// Between blanks, as the words are looked for.
constexpr std::string_view checked_keywords =
    " $ref additionalProperties anyOf const definitions dependencies enum exclusiveMaximum "
    "exclusiveMinimum items maxItems maximum minItems minLength minimum oneOf properties required "
    "type ";
constexpr std::string_view describing_keywords = " $schema default description title ";

bool has(std::string_view keywords, const std::string& keyword) {
  return keywords.find(" " + keyword + " ") != std::string_view::npos;
}

/// A schema that says more than is checked would let wrong files pass.
void expect_known(const json& schema) {
  SCHEDLAB_EXPECTS(schema.is_object(), "a schema is " + schema.dump());
  const bool alone = schema.contains("anyOf") || schema.contains("$ref");
  for (const auto& [keyword, value] : schema.items()) {
    if (has(describing_keywords, keyword)) continue;
    SCHEDLAB_EXPECTS(has(checked_keywords, keyword), "the schema has the keyword " + keyword);
    SCHEDLAB_EXPECTS(!alone || keyword == "anyOf" || keyword == "$ref",
                     "the schema has " + keyword + " beside anyOf or $ref");
    if (keyword == "properties" || keyword == "definitions" || keyword == "anyOf" ||
        keyword == "oneOf" || (keyword == "items" && value.is_array())) {
      for (const json& part : value) expect_known(part);
    } else if (keyword == "items" || (keyword == "additionalProperties" && !value.is_boolean())) {
      expect_known(value);
    }
  }
}

/// The list or object under a keyword; an empty list without it.
const json& list_of(const json& schema, const char* keyword) {
  static const json none = json::array();
  const auto found = schema.find(keyword);
  return found == schema.end() ? none : *found;
}

std::string shown(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What const and enum allow; empty if neither is there.
Words allowed_values(const json& schema) {
  Words words;
  if (schema.contains("const")) words.push_back(shown(schema.at("const")));
  for (const json& value : list_of(schema, "enum")) words.push_back(shown(value));
  return words;
}

bool is_value(const JsonNode& node, const json& value) {
  if (!node.is_scalar()) return node.kind == JsonKind::null && value.is_null();
  return std::visit([&](const auto& scalar) { return value == json(scalar); }, node.scalar);
}

/// "at least 1", "a value from 0 to 1", "above 0 and at most 1000".
std::string range_of(const json& schema) {
  const auto limit = [&](const char* keyword) { return schema.at(keyword).get<double>(); };
  if (schema.contains("minimum") && schema.contains("maximum")) {
    return fmt::format("a value from {} to {}", limit("minimum"), limit("maximum"));
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> limits{
      {{"minimum", "at least"},
       {"exclusiveMinimum", "above"},
       {"maximum", "at most"},
       {"exclusiveMaximum", "below"}}};
  Words words;
  for (const auto& [keyword, meaning] : limits) {
    if (schema.contains(keyword)) words.push_back(fmt::format("{} {}", meaning, limit(keyword)));
  }
  return fmt::format("{}", fmt::join(words, " and "));
}

/// Checks a value against a schema; the first thing that does not fit is the verdict.
class Checker {
 public:
  /// `silent`: a verdict has no words, which take longer than to find it.
  explicit Checker(const json& root, bool silent = false) : root_(root), silent_(silent) {}

  [[nodiscard]] Verdict check(const JsonNode& node, const json& schema) const {
    if (schema.contains("$ref")) return check(node, resolve(schema));
    if (schema.contains("anyOf")) return check_choice(node, schema);
    for (const auto part : {&Checker::check_type,
                            &Checker::check_word,
                            &Checker::check_number,
                            &Checker::check_text,
                            &Checker::check_list,
                            &Checker::check_object,
                            &Checker::check_dependencies,
                            &Checker::check_exclusive}) {
      if (Verdict verdict = (this->*part)(node, schema)) return verdict;
    }
    return std::nullopt;
  }

 private:
  template <class Problem>
  [[nodiscard]] Verdict refused(const Problem& make) const {
    return silent_ ? InputProblem{} : make();
  }
  [[nodiscard]] bool fits(const JsonNode& node, const json& schema) const {
    return !Checker{root_, true}.check(node, schema);
  }

  // Only "#/definitions/NAME" is used.
  [[nodiscard]] const json& resolve(const json& schema) const {
    const auto& ref = schema.at("$ref").get_ref<const std::string&>();
    return root_.at(json::json_pointer(ref.substr(1)));
  }

  [[nodiscard]] static std::string expectation(const json& schema) {
    if (schema.contains("enum")) return one_of(allowed_values(schema));
    if (schema.contains("const")) return schema.at("const").dump();
    if (schema.contains("title")) return schema.at("title").get<std::string>();
    Words words;
    for (const std::string& type : types_of(schema)) words.emplace_back(type_names(type));
    for (const json& key : list_of(schema, "required")) {
      if (!schema.contains("type")) words.push_back("the key " + key.dump());
    }
    return fmt::format("{}", fmt::join(words, " or "));
  }

  [[nodiscard]] Verdict check_type(const JsonNode& node, const json& schema) const {
    const Words types = types_of(schema);
    if (types.empty() || any_type_fits(node.kind, types)) return std::nullopt;
    return refused([&] {
      const bool huge = could_fit(node, types);
      const Verdict range = huge ? check_number(node, schema) : std::nullopt;
      return range ? *range
                   : problem(node.pointer,
                             describe(node),
                             huge ? "an integer of at most 63 bits" : expectation(schema));
    });
  }

  [[nodiscard]] Verdict check_word(const JsonNode& node, const json& schema) const {
    const auto fixed = schema.find("const");
    if (fixed == schema.end() && !schema.contains("enum")) return std::nullopt;
    if (fixed != schema.end() && is_value(node, *fixed)) return std::nullopt;
    for (const json& value : list_of(schema, "enum")) {
      if (is_value(node, value)) return std::nullopt;
    }
    return refused([&] {
      const Words allowed = allowed_values(schema);
      if (node.kind != JsonKind::string) {
        return problem(node.pointer, describe(node), expectation(schema));
      }
      return problem(
          node.pointer, describe(node), one_of(allowed), did_you_mean(node.text(), allowed));
    });
  }

  [[nodiscard]] Verdict check_text(const JsonNode& node, const json& schema) const {
    if (node.kind != JsonKind::string) return std::nullopt;
    const auto least = schema.value("minLength", std::size_t{0});
    if (node.text().size() >= least) return std::nullopt;
    return refused([&] {
      return problem(
          node.pointer, describe(node), fmt::format("a text of at least {} bytes", least));
    });
  }

  [[nodiscard]] Verdict check_number(const JsonNode& node, const json& schema) const {
    if (node.kind != JsonKind::integer && node.kind != JsonKind::number) return std::nullopt;
    const double value = node.kind == JsonKind::integer
                             ? static_cast<double>(std::get<std::int64_t>(node.scalar))
                             : std::get<double>(node.scalar);
    const auto beyond = [&](const char* keyword, auto is_beyond) {
      const auto limit = schema.find(keyword);
      return limit != schema.end() && is_beyond(value, limit->get<double>());
    };
    if (!beyond("minimum", std::less{}) && !beyond("maximum", std::greater{}) &&
        !beyond("exclusiveMinimum", std::less_equal{}) &&
        !beyond("exclusiveMaximum", std::greater_equal{})) {
      return std::nullopt;
    }
    return refused([&] { return problem(node.pointer, describe(node), range_of(schema)); });
  }

  [[nodiscard]] Verdict check_list(const JsonNode& node, const json& schema) const {
    if (node.kind != JsonKind::array) return std::nullopt;
    const auto least = schema.value("minItems", std::size_t{0});
    const auto most = schema.value("maxItems", node.items.size());
    if (node.items.size() < least || node.items.size() > most) {
      return refused([&] {
        return problem(node.pointer,
                       describe(node),
                       least == most              ? fmt::format("a list of {}", least)
                       : node.items.size() > most ? fmt::format("at most {} values", most)
                       : least == 1               ? "at least one value"
                                                  : fmt::format("at least {} values", least));
      });
    }
    const auto items = schema.find("items");
    if (items == schema.end()) return std::nullopt;
    // A list of schemas is for the first items, one each.
    const std::size_t count =
        items->is_array() ? std::min(items->size(), node.items.size()) : node.items.size();
    for (std::size_t i = 0; i < count; ++i) {
      const json& item = items->is_array() ? items->at(i) : *items;
      if (Verdict verdict = check(node.items[i], item)) return verdict;
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict check_object(const JsonNode& node, const json& schema) const {
    if (node.kind != JsonKind::object) return std::nullopt;
    const auto properties = schema.find("properties");
    const auto others = schema.find("additionalProperties");
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const json* property = nullptr;
      if (properties != schema.end() && properties->contains(node.keys[i])) {
        property = &properties->at(node.keys[i]);
      } else if (others != schema.end()) {
        if (*others == false) return unknown_key(node, i, schema);
        if (others->is_object()) property = &*others;
      }
      if (property == nullptr) continue;
      if (Verdict verdict = check(node.items[i], *property)) return verdict;
    }
    for (const json& key : list_of(schema, "required")) {
      const auto& name = key.get_ref<const std::string&>();
      if (node.find(name) != nullptr) continue;
      return refused([&] {
        return problem(
            node.pointer, fmt::format("no \"{}\"", name), fmt::format("the key \"{}\"", name));
      });
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict unknown_key(const JsonNode& node, std::size_t i, const json& schema) const {
    return refused([&] {
      Words names;
      for (const auto& [name, property] : list_of(schema, "properties").items()) {
        names.push_back(name);
      }
      return problem(node.items[i].pointer,
                     fmt::format("the unknown key \"{}\"", node.keys[i]),
                     allowed_names(node.keys[i], names),
                     hint_of(node.keys[i], names));
    });
  }

  [[nodiscard]] Verdict check_dependencies(const JsonNode& node, const json& schema) const {
    const auto dependencies = schema.find("dependencies");
    if (dependencies == schema.end()) return std::nullopt;
    for (const auto& [name, needed] : dependencies->items()) {
      if (node.find(name) == nullptr) continue;
      for (const json& key : needed) {
        if (node.find(key.get_ref<const std::string&>()) != nullptr) continue;
        return refused([&] {
          return problem(
              node.pointer, fmt::format("\"{}\" without {}", name, key.dump()), "both or neither");
        });
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict check_exclusive(const JsonNode& node, const json& schema) const {
    if (!schema.contains("oneOf")) return std::nullopt;
    const json& choice = schema.at("oneOf");
    const auto fitting = std::count_if(
        choice.begin(), choice.end(), [&](const json& branch) { return fits(node, branch); });
    if (fitting == 1) return std::nullopt;
    return refused([&] {
      Words expected;
      for (const json& branch : choice) expected.push_back(expectation(branch));
      return problem(
          node.pointer,
          fitting == 0 ? describe(node) : fmt::format("{} alternatives at once", fitting),
          fmt::format("exactly one of {}", fmt::join(expected, ", ")));
    });
  }

  /// The alternatives of an anyOf, those of nested ones included.
  [[nodiscard]] std::vector<const json*> branches(const json& schema) const {
    std::vector<const json*> flat;
    for (const json& branch : schema.at("anyOf")) {
      const json& target = branch.contains("$ref") ? resolve(branch) : branch;
      if (target.contains("anyOf")) {
        for (const json* inner : branches(target)) flat.push_back(inner);
      } else {
        flat.push_back(&target);
      }
    }
    return flat;
  }

  [[nodiscard]] Verdict check_choice(const JsonNode& node, const json& schema) const {
    const json& choice = schema.at("anyOf");
    if (std::any_of(
            choice.begin(), choice.end(), [&](const json& branch) { return fits(node, branch); })) {
      return std::nullopt;
    }
    return refused([&] { return unlike_all(node, branches(schema)); });
  }

  /// The problem with the alternative that was most likely meant.
  [[nodiscard]] InputProblem unlike_all(const JsonNode& node,
                                        const std::vector<const json*>& choice) const {
    std::vector<const json*> likely;
    Words expected;
    for (const json* branch : choice) {
      if (could_fit(node, types_of(*branch))) likely.push_back(branch);
      const std::string words = expectation(*branch);
      if (std::find(expected.begin(), expected.end(), words) == expected.end()) {
        expected.push_back(words);
      }
    }
    if (likely.empty()) {
      return problem(node.pointer, describe(node), fmt::format("{}", fmt::join(expected, ", or ")));
    }
    if (likely.size() > 1 && node.kind == JsonKind::object) return unlike_tagged(node, likely);
    return *check(node, *likely.front());
  }

  /// Several kinds of object, told apart by the one property that each fixes ("kind", "name").
  [[nodiscard]] InputProblem unlike_tagged(const JsonNode& node,
                                           const std::vector<const json*>& choice) const {
    std::string key;
    Words tags;
    for (const json* branch : choice) {
      for (const auto& [name, property] : list_of(*branch, "properties").items()) {
        if (!property.contains("const")) continue;
        key = name;
        tags.push_back(shown(property.at("const")));
        const JsonNode* value = node.find(name);
        if (value != nullptr && is_value(*value, property.at("const")))
          return *check(node, *branch);
      }
    }
    const JsonNode* value = node.find(key);
    if (value == nullptr) return untagged(node, choice, key, tags);
    // The alternative for a list of names comes last.
    if (value->kind != JsonKind::string) return *check(node, *choice.back());
    return problem(
        value->pointer, describe(*value), one_of(tags), did_you_mean(value->text(), tags));
  }

  [[nodiscard]] InputProblem untagged(const JsonNode& node,
                                      const std::vector<const json*>& choice,
                                      const std::string& key,
                                      const Words& tags) const {
    for (const json* branch : choice) {  // an alternative tag, as "preset" instead of "kind"
      if (branch->contains("required") && branch->at("properties").contains(key)) continue;
      for (const json& name : list_of(*branch, "required")) {
        if (node.find(name.get_ref<const std::string&>()) != nullptr) return *check(node, *branch);
      }
    }
    const std::string close = closest_spelling(key, node.keys);
    return problem(
        node.pointer,
        fmt::format("no \"{}\"", key),
        fmt::format("\"{}\": {}", key, one_of(tags)),
        close.empty() ? std::string{} : fmt::format("should \"{}\" be \"{}\"?", close, key));
  }

  const json& root_;
  bool silent_;
};

}  // namespace

struct PreparedSchema::Impl {
  json schema;
};

PreparedSchema::PreparedSchema(const std::string& schema)
    : impl_(std::make_unique<const Impl>(json::parse(schema, nullptr, false))) {
  SCHEDLAB_EXPECTS(!impl_->schema.is_discarded(), "a schema is no JSON");
  expect_known(impl_->schema);
}

PreparedSchema::~PreparedSchema() = default;

void PreparedSchema::check(const JsonNode& root, const std::string& file) const {
  Verdict verdict = Checker{impl_->schema}.check(root, impl_->schema);
  if (!verdict) return;
  verdict->file = file;
  throw InputError(*verdict);
}

JsonNode read_checked_json(std::string_view text,
                           const std::string& schema,
                           const std::string& file) {
  JsonNode root = parse_json_node(text, file);
  PreparedSchema{schema}.check(root, file);
  return root;
}

}  // namespace schedlab
