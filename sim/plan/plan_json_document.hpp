// SPDX-License-Identifier: Apache-2.0
// Internal to plan_json: a JSON text whose errors say where, what and what else.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace schedlab::plan_json {

/// The value as it stands in the document, cut if it is long.
[[nodiscard]] std::string shown(const nlohmann::json& value);

/// Access to the members of objects; whatever is not as expected is an InputError with its pointer.
class Document {
 public:
  /// Both must outlive this.
  Document(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[noreturn]] void fail(std::string pointer,
                         std::string found,
                         std::string expected,
                         std::string hint = {}) const;
  /// `take`: sees every value as it is read, and says false for those that it has taken.
  [[nodiscard]] nlohmann::json parse(const nlohmann::json::parser_callback_t& take = nullptr) const;
  void expect_keys(const nlohmann::json& object,
                   const std::string& pointer,
                   std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] const nlohmann::json& at(const nlohmann::json& object,
                                         const std::string& pointer,
                                         const char* key) const;
  [[nodiscard]] const nlohmann::json& array_at(const nlohmann::json& object,
                                               const std::string& pointer,
                                               const char* key) const;
  [[nodiscard]] std::string text_at(const nlohmann::json& object,
                                    const std::string& pointer,
                                    const char* key) const;
  [[nodiscard]] std::uint64_t number_at(const nlohmann::json& object,
                                        const std::string& pointer,
                                        const char* key,
                                        std::uint64_t highest) const;

 private:
  std::string_view text_;
  const std::string& file_;
};

}  // namespace schedlab::plan_json
