// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Where the thread runs that makes the host calls.
enum class HostPlacement : std::uint8_t {
  own_core,     ///< on a core without a worker
  shares_core,  ///< on the core of worker 0: what it does there, that worker cannot do
  preloaded,    ///< all calls are made before time 0 and cost nothing; not for plans that query,
                ///< sleep or synchronize in between
};
[[nodiscard]] std::string_view to_string(HostPlacement placement);
[[nodiscard]] std::optional<HostPlacement> host_placement_from(std::string_view word);
[[nodiscard]] const std::vector<std::string>& host_placement_names();

}  // namespace schedlab
