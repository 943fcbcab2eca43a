// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_json_document.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab::plan_json {

using nlohmann::json;

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

void Document::fail(std::string pointer,
                    std::string found,
                    std::string expected,
                    std::string hint) const {
  throw InputError(
      {file_, std::move(pointer), std::move(found), std::move(expected), std::move(hint)});
}

json Document::parse(const json::parser_callback_t& take) const {
  try {
    return json::parse(text_, take);
  } catch (const json::parse_error& error) {
    const std::size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, text_.size());
    const auto line =
        std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    const std::string_view rest = text_.substr(end, 20);
    const std::string found = rest.empty() ? "the end of the text"
                                           : fmt::format("\"{}\"", rest.substr(0, rest.find('\n')));
    fail(fmt::format("line {}", line + 1), found, "valid JSON");
  } catch (const json::out_of_range& error) {
    fail("", error.what(), "numbers of at most 64 bits");
  }
}

void Document::expect_keys(const json& object,
                           const std::string& pointer,
                           std::initializer_list<std::string_view> allowed) const {
  if (!object.is_object()) fail(pointer, shown(object), "an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    const std::vector<std::string> words(allowed.begin(), allowed.end());
    const std::string near = closest_spelling(key, words);
    fail(fmt::format("{}/{}", pointer, key),
         "an unknown key",
         fmt::format("one of {}", fmt::join(words, ", ")),
         near.empty() ? "" : fmt::format("the closest key is \"{}\"", near));
  }
}

const json& Document::at(const json& object, const std::string& pointer, const char* key) const {
  const auto found = object.find(key);
  if (found == object.end()) fail(pointer, "", fmt::format("a key \"{}\"", key));
  return *found;
}

const json& Document::array_at(const json& object,
                               const std::string& pointer,
                               const char* key) const {
  const json& value = at(object, pointer, key);
  if (!value.is_array()) fail(pointer + "/" + key, shown(value), "an array");
  return value;
}

std::string Document::text_at(const json& object,
                              const std::string& pointer,
                              const char* key) const {
  const json& value = at(object, pointer, key);
  if (!value.is_string()) fail(pointer + "/" + key, shown(value), "a text");
  return value.get<std::string>();
}

std::uint64_t Document::number_at(const json& object,
                                  const std::string& pointer,
                                  const char* key,
                                  std::uint64_t highest) const {
  const json& value = at(object, pointer, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > highest) {
    fail(pointer + "/" + key, shown(value), fmt::format("a whole number from 0 to {}", highest));
  }
  return value.get<std::uint64_t>();
}

}  // namespace schedlab::plan_json
