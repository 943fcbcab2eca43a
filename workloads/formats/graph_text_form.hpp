// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace schedlab::detail {

/// The first line of a graph in our compact form.
inline constexpr std::string_view graph_text_magic = "schedlab-graph";
inline constexpr std::int64_t graph_text_version = 1;

}  // namespace schedlab::detail
