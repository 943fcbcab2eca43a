// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The pieces that JSON Schemas (draft 7) of specs and results are made of. `doc` is what an editor
/// shows.
namespace schedlab::schema {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json text(std::string_view doc);
[[nodiscard]] Json flag(std::string_view doc);
/// One of some words.
[[nodiscard]] Json word(const std::vector<std::string>& allowed, std::string_view doc);
[[nodiscard]] Json integer(std::int64_t least, std::int64_t most, std::string_view doc);
/// From 0 to 10^12.
[[nodiscard]] Json number(std::string_view doc);
/// What an option of a registry's entry may be; no description.
[[nodiscard]] Json value_of(const OptionSpec& option);
/// At least one item; no description if `doc` is empty.
[[nodiscard]] Json list(const Json& items, std::string_view doc = {});
/// An item, or a list of at least one.
[[nodiscard]] Json one_or_more(const Json& item);
/// These keys and no others; no description if `doc` is empty.
[[nodiscard]] Json object(const Json& properties,
                          const std::vector<std::string>& required,
                          std::string_view doc = {});
/// As a program writes it: every key is there but perhaps the `optional` ones, and no others.
[[nodiscard]] Json whole_object(const Json& properties,
                                const std::vector<std::string>& optional = {});
/// An object as the whole of a JSON Schema.
[[nodiscard]] Json document(std::string_view title, const Json& object);
/// The schema of a file: an object that also says what it is, `"schedlab": word, "version": 1`.
[[nodiscard]] Json file(std::string_view title, std::string_view word, const Json& object);

}  // namespace schedlab::schema
