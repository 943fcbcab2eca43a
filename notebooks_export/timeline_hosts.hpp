// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/trace.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace schedlab {

/// Kinds of host calls as the host track of a timeline shows them.
enum class HostGroup : std::uint8_t { launch, event, query, stream, other, blocked };

struct HostGroupStyle {
  std::string_view name;
  std::string_view color;  ///< muted, so that it is not taken for an operation's
};
inline constexpr std::array<HostGroupStyle, 6> host_groups{{{"launch", "#5B6B82"},
                                                            {"record, wait", "#B7A6D9"},
                                                            {"query", "#7FBFB6"},
                                                            {"create, destroy stream", "#B58863"},
                                                            {"other call", "#C9C9C9"},
                                                            {"blocked, asleep", "#E9E2D0"}}};

/// The group of a call; one that was blocked for more than half of its time is `blocked`.
[[nodiscard]] HostGroup host_group(const HostSpan& call);

/// Which groups take any time in a trace.
[[nodiscard]] std::array<bool, host_groups.size()> host_groups_used(const Trace& trace);

}  // namespace schedlab
