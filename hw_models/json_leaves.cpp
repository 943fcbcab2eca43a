// SPDX-License-Identifier: Apache-2.0
#include "hw_models/json_leaves.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t deepest_nesting = 32;

std::string escaped(std::string_view key) {
  std::string result;
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

/// Receives the parser's events; the return values say "go on", errors are thrown.
class LeafCollector final : public nlohmann::json_sax<nlohmann::json> {
 public:
  LeafCollector(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[nodiscard]] std::vector<JsonLeaf> take() && { return std::move(leaves_); }

  bool null() override { return leaf({}); }
  bool boolean(bool value) override { return leaf(value); }
  bool number_integer(number_integer_t value) override { return leaf(value); }
  bool number_unsigned(number_unsigned_t value) override {
    // Above int64 only as a double: every limit of a machine is far below.
    return std::in_range<std::int64_t>(value) ? leaf(static_cast<std::int64_t>(value))
                                              : leaf(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return leaf(value); }
  bool string(string_t& value) override { return leaf(value); }
  bool binary(binary_t& /*value*/) override { return leaf({}); }  // not in JSON text

  bool start_object(std::size_t /*elements*/) override { return open(false); }
  bool start_array(std::size_t /*elements*/) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.pointer = level.base + "/" + escaped(name);
    if (!level.keys.insert(name).second) {
      throw InputError({.file = file_,
                        .pointer = level.pointer,
                        .found = fmt::format("the key \"{}\" a second time", name),
                        .expected = "each key once",
                        .hint = {}});
    }
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& last_token,
                   const nlohmann::json::exception& error) override {
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column =
        before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
    const std::string message = error.what();
    const std::size_t detail = message.rfind(": ");
    throw InputError(
        {.file = file_,
         .pointer = fmt::format("line {}, column {}", line, column),
         .found = last_token.empty() ? "the end of the text" : fmt::format("'{}'", last_token),
         .expected = "valid JSON",
         .hint = detail == std::string::npos ? message : message.substr(detail + 2)});
  }

 private:
  struct Level {
    std::string base;     // of the object or array itself
    std::string pointer;  // of the value that comes next
    bool is_array = false;
    std::size_t items = 0;
    std::set<std::string> keys{};
  };

  /// The pointer of the value that is being read.
  std::string here() {
    if (levels_.empty()) return {};
    Level& level = levels_.back();
    if (level.is_array) level.pointer = fmt::format("{}/{}", level.base, level.items);
    ++level.items;
    return level.pointer;
  }

  bool leaf(decltype(JsonLeaf::value) value) {
    leaves_.push_back({.pointer = here(), .value = std::move(value)});
    return true;
  }

  bool open(bool is_array) {
    std::string pointer = here();
    if (levels_.size() == deepest_nesting) {
      throw InputError({.file = file_,
                        .pointer = pointer,
                        .found = fmt::format("more than {} levels of nesting", deepest_nesting),
                        .expected = "the few levels of a machine file",
                        .hint = {}});
    }
    levels_.push_back({.base = std::move(pointer), .pointer = {}, .is_array = is_array});
    return true;
  }

  bool close() {
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    if (level.items == 0) leaves_.push_back({.pointer = level.base, .value = {}});
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Level> levels_;
  std::vector<JsonLeaf> leaves_;
};

}  // namespace

std::vector<JsonLeaf> json_leaves(std::string_view text, const std::string& file) {
  LeafCollector collector{text, file};
  nlohmann::json::sax_parse(text.begin(), text.end(), &collector);
  return std::move(collector).take();
}

std::string last_key(std::string_view pointer) {
  std::string key{pointer.substr(pointer.rfind('/') + 1)};
  for (std::size_t at = key.find('~'); at != std::string::npos; at = key.find('~', at + 1)) {
    const bool slash = at + 1 < key.size() && key[at + 1] == '1';
    key.replace(at, 2, slash ? "/" : "~");
  }
  return key;
}

}  // namespace schedlab
