// SPDX-License-Identifier: Apache-2.0
#include "studies/base/schema_check.hpp"

#include "sim/base/error.hpp"
#include "studies/base/whole_number.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;
using Verdict = std::optional<InputProblem>;  // nullopt: fits

constexpr std::size_t most_listed = 24;

std::string quoted(const std::string& word) {
  return fmt::format("\"{}\"", word);
}

std::string did_you_mean(const std::string& word, const Words& candidates) {
  const std::string close = closest_spelling(word, candidates);
  return close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close);
}

/// Where the list is, if it is too long for the message.
std::string hint_of(const std::string& word, const Words& names) {
  std::string meant = did_you_mean(word, names);
  if (!meant.empty() || names.size() <= most_listed) return meant;
  return "schedlab list and schedlab schema have all of them";
}

InputProblem problem(const std::string& pointer,
                     std::string found,
                     std::string expected,
                     std::string hint = {}) {
  return {.file = {},
          .pointer = pointer.empty() ? "/" : pointer,
          .found = std::move(found),
          .expected = std::move(expected),
          .hint = std::move(hint)};
}

/// All names, or of very many those that are like the word: the closest spelling, then those that
/// share a part with it ("unit" of "sm_unit_count").
std::string allowed_names(const std::string& word, const Words& names) {
  constexpr std::size_t most_alike = 6;
  constexpr std::size_t shortest_part = 3;
  if (names.size() <= most_listed) return fmt::format("one of {}", fmt::join(names, ", "));
  Words alike;
  const auto add = [&](const std::string& name) {
    if (alike.size() < most_alike && std::find(alike.begin(), alike.end(), name) == alike.end()) {
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

std::string_view type_words(const std::string& type) {
  if (type == "object") return "an object";
  if (type == "array") return "a list";
  if (type == "integer") return "an integer";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  return "a string";
}

bool type_fits(JsonKind kind, const std::string& type) {
  switch (kind) {
    case JsonKind::null:
      return type == "null";
    case JsonKind::boolean:
      return type == "boolean";
    case JsonKind::integer:
      return type == "integer" || type == "number";
    case JsonKind::number:
      return type == "number";
    case JsonKind::string:
      return type == "string";
    case JsonKind::array:
      return type == "array";
    case JsonKind::object:
      return type == "object";
  }
  return false;
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

/// An integer that no integer type holds, so that it was read as a number.
bool is_huge_integer(const JsonNode& node) {
  if (node.kind != JsonKind::number) return false;
  const double value = std::get<double>(node.scalar);
  return value == std::trunc(value);
}

bool could_fit(const JsonNode& node, const Words& types) {
  return any_type_fits(node.kind, types) ||
         (is_huge_integer(node) && any_type_fits(JsonKind::integer, types));
}

/// Whole numbers as integers, as parse_json_node() reads them.
void make_integers(json& value) {
  if (value.is_number_float()) {
    if (const auto whole = whole_number(value.get<double>())) value = *whole;
  } else if (value.is_structured()) {
    for (json& item : value) make_integers(item);
  }
}

/// Says why a value does not fit a schema made of the keywords that spec_schema.cpp uses.
class Explainer {
 public:
  explicit Explainer(const json& root) : root_(root) {}

  [[nodiscard]] Verdict explain(const JsonNode& node, const json& schema) const {
    if (schema.contains("$ref")) return explain(node, resolve(schema));
    if (schema.contains("anyOf")) return explain_choice(node, branches(schema));
    const Words types = types_of(schema);
    if (!types.empty() && !any_type_fits(node.kind, types)) {
      if (could_fit(node, types)) {
        const Verdict range = explain_number(node, schema);
        return range ? range
                     : problem(node.pointer, describe(node), "an integer of at most 63 bits");
      }
      return problem(node.pointer, describe(node), expectation(schema));
    }
    if (node.kind == JsonKind::string) return explain_word(node, schema);
    if (node.kind == JsonKind::integer || node.kind == JsonKind::number) {
      return explain_number(node, schema);
    }
    if (node.kind == JsonKind::array) return explain_list(node, schema);
    if (node.kind == JsonKind::object) return explain_object(node, schema);
    return std::nullopt;
  }

 private:
  // Only "#/definitions/NAME" is used.
  [[nodiscard]] const json& resolve(const json& schema) const {
    const auto ref = schema.at("$ref").get<std::string>();
    return root_.at(json::json_pointer(ref.substr(1)));
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

  [[nodiscard]] static std::string expectation(const json& schema) {
    if (schema.contains("enum")) {
      return fmt::format("one of {}", fmt::join(schema.at("enum").get<Words>(), ", "));
    }
    if (schema.contains("title")) return schema.at("title").get<std::string>();
    Words words;
    for (const std::string& type : types_of(schema)) words.emplace_back(type_words(type));
    return words.empty() ? std::string{type_words("string")}
                         : fmt::format("{}", fmt::join(words, " or "));
  }

  [[nodiscard]] Verdict explain_choice(const JsonNode& node,
                                       const std::vector<const json*>& choice) const {
    std::vector<const json*> fitting;
    Words expected;
    for (const json* branch : choice) {
      if (!explain(node, *branch)) return std::nullopt;
      if (could_fit(node, types_of(*branch))) fitting.push_back(branch);
      const std::string words = expectation(*branch);
      if (std::find(expected.begin(), expected.end(), words) == expected.end()) {
        expected.push_back(words);
      }
    }
    if (fitting.empty()) {
      return problem(node.pointer, describe(node), fmt::format("{}", fmt::join(expected, ", or ")));
    }
    if (fitting.size() > 1 && node.kind == JsonKind::object) return explain_tagged(node, fitting);
    return explain(node, *fitting.front());
  }

  /// Several kinds of object, told apart by the one property that each fixes ("kind", "name").
  [[nodiscard]] Verdict explain_tagged(const JsonNode& node,
                                       const std::vector<const json*>& choice) const {
    std::string key;
    Words tags;
    for (const json* branch : choice) {
      for (const auto& [name, property] : branch->at("properties").items()) {
        if (!property.contains("const")) continue;
        key = name;
        tags.push_back(property.at("const").get<std::string>());
        const JsonNode* value = node.find(name);
        if (value != nullptr && value->kind == JsonKind::string && value->text() == tags.back()) {
          return explain(node, *branch);
        }
      }
    }
    const JsonNode* value = node.find(key);
    if (value == nullptr) return explain_without_tag(node, choice, key, tags);
    if (value->kind != JsonKind::string) {
      // The branch for a list of names comes last.
      return explain(node, *choice.back());
    }
    return problem(value->pointer,
                   describe(*value),
                   fmt::format("one of {}", fmt::join(tags, ", ")),
                   did_you_mean(value->text(), tags));
  }

  [[nodiscard]] Verdict explain_without_tag(const JsonNode& node,
                                            const std::vector<const json*>& choice,
                                            const std::string& key,
                                            const Words& tags) const {
    for (const json* branch : choice) {  // an alternative tag, as "preset" instead of "kind"
      if (branch->contains("required") && branch->at("properties").contains(key)) continue;
      for (const json& name : branch->value("required", json::array())) {
        if (node.find(name.get<std::string>()) != nullptr) return explain(node, *branch);
      }
    }
    const std::string close = closest_spelling(key, node.keys);
    return problem(
        node.pointer,
        fmt::format("no \"{}\"", key),
        fmt::format("\"{}\": one of {}", key, fmt::join(tags, ", ")),
        close.empty() ? std::string{} : fmt::format("should \"{}\" be \"{}\"?", close, key));
  }

  [[nodiscard]] static Verdict explain_word(const JsonNode& node, const json& schema) {
    Words allowed;
    if (schema.contains("const")) allowed.push_back(schema.at("const").get<std::string>());
    if (schema.contains("enum")) allowed = schema.at("enum").get<Words>();
    if (allowed.empty() ||
        std::find(allowed.begin(), allowed.end(), node.text()) != allowed.end()) {
      return std::nullopt;
    }
    return problem(node.pointer,
                   quoted(node.text()),
                   fmt::format("one of {}", fmt::join(allowed, ", ")),
                   did_you_mean(node.text(), allowed));
  }

  [[nodiscard]] static Verdict explain_number(const JsonNode& node, const json& schema) {
    const double value = node.kind == JsonKind::integer
                             ? static_cast<double>(std::get<std::int64_t>(node.scalar))
                             : std::get<double>(node.scalar);
    const bool low = schema.contains("minimum") && value < schema.at("minimum").get<double>();
    const bool high = schema.contains("maximum") && value > schema.at("maximum").get<double>();
    if (!low && !high) return std::nullopt;
    if (!schema.contains("maximum")) {
      return problem(node.pointer,
                     describe(node),
                     fmt::format("at least {}", schema.at("minimum").get<double>()));
    }
    if (!schema.contains("minimum")) {
      return problem(node.pointer,
                     describe(node),
                     fmt::format("at most {}", schema.at("maximum").get<double>()));
    }
    return problem(node.pointer,
                   describe(node),
                   fmt::format("a value from {} to {}",
                               schema.at("minimum").get<double>(),
                               schema.at("maximum").get<double>()));
  }

  [[nodiscard]] Verdict explain_list(const JsonNode& node, const json& schema) const {
    const auto least = schema.value("minItems", std::size_t{0});
    if (node.items.size() < least) {
      return problem(node.pointer,
                     describe(node),
                     least == 1 ? "at least one value" : fmt::format("at least {} values", least));
    }
    if (!schema.contains("items")) return std::nullopt;
    for (const JsonNode& item : node.items) {
      if (Verdict verdict = explain(item, schema.at("items"))) return verdict;
    }
    return std::nullopt;
  }

  [[nodiscard]] Verdict explain_object(const JsonNode& node, const json& schema) const {
    const json properties = schema.value("properties", json::object());
    Words names;
    for (const auto& [name, property] : properties.items()) names.push_back(name);
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      const auto property = properties.find(node.keys[i]);
      if (property != properties.end()) {
        if (Verdict verdict = explain(node.items[i], *property)) return verdict;
      } else if (schema.contains("additionalProperties") &&
                 schema.at("additionalProperties") == false) {
        return problem(node.items[i].pointer,
                       fmt::format("the unknown key \"{}\"", node.keys[i]),
                       allowed_names(node.keys[i], names),
                       hint_of(node.keys[i], names));
      }
    }
    for (const json& name : schema.value("required", json::array())) {
      if (node.find(name.get<std::string>()) == nullptr) {
        return problem(node.pointer,
                       fmt::format("no \"{}\"", name.get<std::string>()),
                       fmt::format("the key \"{}\"", name.get<std::string>()));
      }
    }
    return std::nullopt;
  }

  const json& root_;
};

/// "<root>[workload][0]" as valijson counts it -> "/workload/0".
std::string pointer_from(const std::vector<std::string>& context) {
  std::string pointer;
  for (std::size_t i = 1; i < context.size(); ++i) {
    std::string segment = context[i];
    if (segment.size() >= 2 && segment.front() == '[') {
      segment = segment.substr(1, segment.size() - 2);
    }
    pointer += "/" + segment;
  }
  return pointer;
}

/// The schema library's own words, for what the explanation does not cover.
InputProblem first_of(valijson::ValidationResults& results) {
  valijson::ValidationResults::Error first;
  if (!results.popError(first)) return problem("", "a file that does not fit", "another");
  return problem(pointer_from(first.context),
                 first.description,
                 "what the schema asks for",
                 "see schedlab schema spec");
}

}  // namespace

struct PreparedSchema::Impl {
  json schema;
  valijson::Schema compiled;
};

PreparedSchema::PreparedSchema(const std::string& schema) {
  auto impl = std::make_unique<Impl>();
  impl->schema = json::parse(schema);
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter{impl->schema}, impl->compiled);
  impl_ = std::move(impl);
}

PreparedSchema::~PreparedSchema() = default;

void PreparedSchema::check(const JsonNode& root,
                           std::string_view text,
                           const std::string& file) const {
  json target = json::parse(text.begin(), text.end());
  make_integers(target);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target_adapter(target);
  if (validator.validate(impl_->compiled, target_adapter, &results)) return;

  Verdict verdict = Explainer(impl_->schema).explain(root, impl_->schema);
  if (!verdict) verdict = first_of(results);
  verdict->file = file;
  throw InputError(*verdict);
}

void check_schema(const JsonNode& root,
                  std::string_view text,
                  const std::string& schema,
                  const std::string& file) {
  PreparedSchema{schema}.check(root, text, file);
}

}  // namespace schedlab
