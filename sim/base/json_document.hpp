// SPDX-License-Identifier: Apache-2.0
// Internal: JSON as the library reads it, with errors that say where, what and what else. JsonNode
// (json_node.hpp) is for files whose places are needed after reading.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// "line 3, column 7" of the byte at `position`.
[[nodiscard]] std::string json_text_place(std::string_view text, std::size_t position);

/// Access to the members of objects; whatever is not as expected is an InputError with its pointer.
class JsonDocument {
 public:
  explicit JsonDocument(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(std::string pointer,
                         std::string found,
                         std::string expected,
                         std::string hint = {}) const;
  /// `take`: sees every value as it is read, and says false for those that it has taken.
  [[nodiscard]] nlohmann::json parse(std::string_view text,
                                     const nlohmann::json::parser_callback_t& take = nullptr) const;
  /// The value as it stands in the document, cut if it is long.
  [[nodiscard]] static std::string shown(const nlohmann::json& value);

  void expect_object(const nlohmann::json& object, const std::string& pointer) const;
  /// An object with no other keys.
  void expect_keys(const nlohmann::json& object,
                   const std::string& pointer,
                   std::initializer_list<std::string_view> allowed) const;
  void expect_keys(const nlohmann::json& object,
                   const std::string& pointer,
                   const std::vector<std::string>& allowed) const;
  [[nodiscard]] const nlohmann::json& at(const nlohmann::json& object,
                                         const std::string& pointer,
                                         const std::string& key) const;
  [[nodiscard]] const nlohmann::json& array_at(const nlohmann::json& object,
                                               const std::string& pointer,
                                               const std::string& key) const;
  [[nodiscard]] std::string text_at(const nlohmann::json& object,
                                    const std::string& pointer,
                                    const std::string& key) const;
  [[nodiscard]] std::uint64_t number_at(const nlohmann::json& object,
                                        const std::string& pointer,
                                        const std::string& key,
                                        std::uint64_t highest) const;

 private:
  template <class Keys>
  void expect_among(const nlohmann::json& object,
                    const std::string& pointer,
                    const Keys& allowed) const;

  std::string file_;
};

}  // namespace schedlab
