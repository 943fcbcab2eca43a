// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"

#include <string>
#include <string_view>

namespace schedlab::testing {

/// What `call` says is wrong with its input; "accepted" if it throws no InputError.
template <class Call>
[[nodiscard]] std::string refusal(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// Is `part` somewhere in `text`?
[[nodiscard]] inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace schedlab::testing
