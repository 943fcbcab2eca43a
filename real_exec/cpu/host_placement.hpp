// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"

#include <cstdint>

namespace schedlab {

/// Where the thread runs that makes the host calls.
enum class HostPlacement : std::uint8_t {
  own_core,     ///< on a core without a worker
  shares_core,  ///< on the core of worker 0: what it does there, that worker cannot do
  preloaded,    ///< all calls are made before time 0 and cost nothing; not for plans that query,
                ///< sleep or synchronize in between
};
template <>
struct EnumNames<HostPlacement> {
  static constexpr auto names = name_list("own_core", "shares_core", "preloaded");
};

}  // namespace schedlab
