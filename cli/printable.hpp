// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// Text out of a user's file as it may go to a screen: control characters other than ends of lines
/// and bytes that are not UTF-8 become \xNN, so that a name cannot move the cursor or hide a line.
[[nodiscard]] std::string printable(std::string_view text);

/// "1 task", "2 tasks": a number of things whose plural ends in s.
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view thing);

}  // namespace schedlab
