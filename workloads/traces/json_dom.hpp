// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/graph_draft.hpp"

#include <simdjson.h>

#include <string_view>

namespace schedlab::detail {

/// The value of `key` if it is there and a T.
template <class T>
[[nodiscard]] T value_or(const simdjson::dom::object& object, std::string_view key, T otherwise) {
  T value{};
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

[[nodiscard]] inline std::string_view text_or_empty(const simdjson::dom::object& object,
                                                    std::string_view key) {
  return value_or(object, key, std::string_view{});
}

/// `text` as a JSON object, or InputError. The result lives as long as the parser.
[[nodiscard]] inline simdjson::dom::object parse_object(simdjson::dom::parser& parser,
                                                        std::string_view text,
                                                        const GraphDraft& draft) {
  simdjson::dom::object root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) draft.refuse({}, simdjson::error_message(error), "valid JSON");
  return root;
}

}  // namespace schedlab::detail
