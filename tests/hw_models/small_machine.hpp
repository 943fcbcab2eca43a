// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/platform.hpp"

namespace schedlab::testing {

/// Four units of 1 TFLOP/s each, 1 TB/s of memory, one tile of 100 x 100 at full efficiency,
/// kernels of at least 2 us with 1 us between them: numbers for mental arithmetic.
inline Platform small_machine() {
  using namespace schedlab::literals;
  Platform platform;
  platform.name = "small";
  Device& device = platform.devices[DeviceId{0}];
  device.name = "small";
  const UnitClassId units = device.unit_classes.push_back({.name = "unit", .count = 4});
  for (const TaskKind kind : {TaskKind::gemm, TaskKind::pointwise, TaskKind::composite}) {
    device.unit_class_of[static_cast<std::size_t>(kind)] = units;
  }
  device.kernel_floor = 2us;
  device.stream_gap = 1us;
  device.rates.matrix_units = 4;
  device.rates.vector_units = 4;
  device.rates.matrix[static_cast<std::size_t>(DataType::fp32)] = 4_TFLOP_per_s;
  device.rates.vector[static_cast<std::size_t>(DataType::fp32)] = 2_TFLOP_per_s;
  device.rates.memory = 1000_GB_per_s;
  device.rates.gemm_tiles = {{.m = 100, .n = 100, .efficiency = 1.0}};
  return platform;
}

}  // namespace schedlab::testing
