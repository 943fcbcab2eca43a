// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/machine/matrix_library.hpp"

#include <vector>

namespace schedlab {

/// The library of pipelined kernels for `target`, carried over from machines that have one for the
/// type, oldest generation first. The last of them gives tiles, shares and exponents as they are.
///
///   rates of a unit       (unit_gb_per_s, epilogue_gb_per_s) x (peak of a unit, target over
///   last)^h rates of all units    (cache_gb_per_s, split_gb_per_s)   x (peak of all, target over
///   last)^h latencies             (floor, tile, step, memory latency, split) x s^h, where the
///   target's unit
///                         differs from the last one's by more than 5 %, so that it is of a further
///                         generation; s: floor + tile + memory latency of the last machine over
///                         that of the one before
///   h = 1/2: half way between "nothing changes" and "the last step repeats", which are the ends of
///   the intervals
///   intervals of predictions: those of the last machine; in quadrature with what these ends
///   change, and with a twentieth (assumed)
///
/// Two shares follow from the data sheet alone: the peak and the memory's bandwidth.
/// Throws InfeasibleError naming a machine that has no such library.
[[nodiscard]] MatrixLibrary transferred_products(const std::vector<MachineSpec>& known,
                                                 const Device& target,
                                                 DataType type);

/// `target` with that library, its origin `assumed`.
[[nodiscard]] MachineSpec transfer_products(const std::vector<MachineSpec>& known,
                                            MachineSpec target,
                                            DataType type);

/// The device's library of pipelined kernels for a type; nullptr if it has none.
[[nodiscard]] const MatrixLibrary* pipelined_library(const Device& device, DataType type);
/// The same of a machine. Throws InfeasibleError if it has none.
[[nodiscard]] const MatrixLibrary& pipelined_library_of(const MachineSpec& machine, DataType type);

/// Replaces the machine's library for the library's first type.
void set_library(MachineSpec& machine, MatrixLibrary library);

}  // namespace schedlab
