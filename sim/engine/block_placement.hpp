// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstdint>

namespace schedlab {

/// Blocks of one task that were placed on a unit, or ended there.
struct BlockPlacement {
  Time at{};
  TaskId task;
  DeviceId device;
  UnitClassId unit_class;
  std::uint32_t unit = 0;   ///< number within its class
  std::int32_t blocks = 0;  ///< > 0 placed, < 0 ended

  friend bool operator==(const BlockPlacement&, const BlockPlacement&) = default;
};

}  // namespace schedlab
