// SPDX-License-Identifier: Apache-2.0
#include "sim/base/json_node.hpp"

#include "sim/base/error.hpp"
#include "sim/base/json_document.hpp"
#include "sim/base/whole_number.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t deepest_nesting = 64;
constexpr int number_overflow = 406;  // id of the parser's exception

/// Builds the tree while nlohmann's parser reports what it reads.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  [[nodiscard]] JsonNode take() { return std::move(root_); }

  bool null() override { return add(JsonKind::null, {}); }
  bool boolean(bool value) override { return add(JsonKind::boolean, value); }
  bool number_integer(number_integer_t value) override { return add(JsonKind::integer, value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      reject(next_pointer(), fmt::format("{}", value), "an integer of at most 63 bits");
    }
    return add(JsonKind::integer, static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*digits*/) override {
    if (const auto whole = whole_number(value)) return add(JsonKind::integer, *whole);
    return add(JsonKind::number, value);
  }
  bool string(string_t& value) override { return add(JsonKind::string, std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // not reported for text
  bool start_object(std::size_t /*size*/) override { return open(JsonKind::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(JsonKind::array); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    JsonNode& object = *open_.back();
    if (!names_.back().insert(name).second) {
      reject(object.pointer + "/" + pointer_segment(name),
             fmt::format("the key \"{}\" twice", name),
             "each key once");
    }
    object.keys.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& token,
                   const nlohmann::json::exception& error) override {
    if (error.id == number_overflow) {
      reject(next_pointer(), token, "a number of at most 1.8e308 in size");
    }
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    std::string what = error.what();
    const std::size_t detail = what.find(": ", what.find("column"));
    if (detail != std::string::npos) what = what.substr(detail + 2);
    throw InputError({.file = file_,
                      .pointer = json_text_place(text_, at),
                      .found = "a syntax error",
                      .expected = "valid JSON",
                      .hint = what});
  }

 private:
  [[noreturn]] void reject(const std::string& pointer, std::string found, std::string expected) {
    throw InputError({.file = file_,
                      .pointer = pointer.empty() ? "/" : pointer,
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = {}});
  }

  [[nodiscard]] std::string next_pointer() const {
    if (open_.empty()) return {};
    const JsonNode& parent = *open_.back();
    return parent.pointer + "/" +
           (parent.kind == JsonKind::object ? pointer_segment(parent.keys.back())
                                            : std::to_string(parent.items.size()));
  }

  bool add(JsonKind kind, OptionValue value) {
    place({.kind = kind,
           .scalar = std::move(value),
           .keys = {},
           .items = {},
           .pointer = next_pointer()});
    return true;
  }

  JsonNode* place(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    open_.back()->items.push_back(std::move(node));
    return &open_.back()->items.back();
  }

  bool open(JsonKind kind) {
    if (open_.size() == deepest_nesting) {
      reject(next_pointer(),
             fmt::format("more than {} levels of nesting", deepest_nesting),
             "a flatter file");
    }
    // The parent's items do not move while a child is open, so the pointer stays valid.
    open_.push_back(
        place({.kind = kind, .scalar = {}, .keys = {}, .items = {}, .pointer = next_pointer()}));
    names_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string file_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::vector<std::set<std::string>> names_;  // keys seen in each open object
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found == keys.end()) return nullptr;
  const auto index = static_cast<std::size_t>(found - keys.begin());
  return index < items.size() ? &items[index] : nullptr;
}

const std::string& JsonNode::text() const {
  const auto* value = std::get_if<std::string>(&scalar);
  SCHEDLAB_EXPECTS(kind == JsonKind::string && value != nullptr, pointer + " is no string");
  return *value;
}

std::string describe(const JsonNode& node) {
  switch (node.kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::string:
      return fmt::format("\"{}\"", node.text());
    case JsonKind::array:
      return node.items.empty() ? std::string{"an empty list"}
                                : fmt::format("a list of {}", node.items.size());
    case JsonKind::object:
      return "an object";
    default:
      return to_string(node.scalar);
  }
}

std::string pointer_segment(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

JsonNode parse_json_node(std::string_view text, const std::string& file) {
  TreeBuilder builder(text, file);
  // The builder throws at the first error, so the result is always true.
  static_cast<void>(nlohmann::json::sax_parse(text.begin(), text.end(), &builder));
  return builder.take();
}

}  // namespace schedlab
