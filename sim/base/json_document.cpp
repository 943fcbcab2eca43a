// SPDX-License-Identifier: Apache-2.0
#include "sim/base/json_document.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {

using nlohmann::json;

std::string json_text_place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

std::string JsonDocument::shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

void JsonDocument::fail(std::string pointer,
                        std::string found,
                        std::string expected,
                        std::string hint) const {
  throw InputError(
      {file_, std::move(pointer), std::move(found), std::move(expected), std::move(hint)});
}

json JsonDocument::parse(std::string_view text, const json::parser_callback_t& take) const {
  try {
    return json::parse(text, take);
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const std::string_view rest = text.substr(at, 20);
    const std::string found = rest.empty() ? "the end of the text"
                                           : fmt::format("\"{}\"", rest.substr(0, rest.find('\n')));
    fail(json_text_place(text, at), found, "valid JSON");
  } catch (const json::out_of_range& error) {
    fail("", error.what(), "numbers of at most 64 bits");
  }
}

void JsonDocument::expect_object(const json& object, const std::string& pointer) const {
  if (!object.is_object()) fail(pointer, shown(object), "an object");
}

template <class Keys>
void JsonDocument::expect_among(const json& object,
                                const std::string& pointer,
                                const Keys& allowed) const {
  expect_object(object, pointer);
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::vector<std::string> keys(allowed.begin(), allowed.end());
    const std::string close = closest_spelling(key, keys);
    fail(fmt::format("{}/{}", pointer, key),
         fmt::format("the unknown key \"{}\"", key),
         fmt::format("one of {}", fmt::join(keys, ", ")),
         close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close));
  }
}

void JsonDocument::expect_keys(const json& object,
                               const std::string& pointer,
                               std::initializer_list<std::string_view> allowed) const {
  expect_among(object, pointer, allowed);
}

void JsonDocument::expect_keys(const json& object,
                               const std::string& pointer,
                               const std::vector<std::string>& allowed) const {
  expect_among(object, pointer, allowed);
}

const json& JsonDocument::at(const json& object,
                             const std::string& pointer,
                             const std::string& key) const {
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(pointer, fmt::format("no \"{}\"", key), fmt::format("the key \"{}\"", key));
  }
  return *found;
}

const json& JsonDocument::array_at(const json& object,
                                   const std::string& pointer,
                                   const std::string& key) const {
  const json& value = at(object, pointer, key);
  if (!value.is_array()) fail(pointer + "/" + key, shown(value), "an array");
  return value;
}

std::string JsonDocument::text_at(const json& object,
                                  const std::string& pointer,
                                  const std::string& key) const {
  const json& value = at(object, pointer, key);
  if (!value.is_string()) fail(pointer + "/" + key, shown(value), "a text");
  return value.get<std::string>();
}

std::uint64_t JsonDocument::number_at(const json& object,
                                      const std::string& pointer,
                                      const std::string& key,
                                      std::uint64_t highest) const {
  const json& value = at(object, pointer, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > highest) {
    fail(pointer + "/" + key, shown(value), fmt::format("a whole number from 0 to {}", highest));
  }
  return value.get<std::uint64_t>();
}

}  // namespace schedlab
