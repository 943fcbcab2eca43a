// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "calibration/device_report.hpp"
#include "calibration/microbenchmarks.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

struct DeviceCalibrationOptions {
  std::string name = "gpu";  ///< of the machine that is made
  bool quick = false;        ///< fewer runs and shapes
};

/// What came of measuring a device.
struct DeviceCalibration {
  DeviceReport rules;
  MachineSpec machine;  ///< `base` with what was measured, and a profile of kernels
};

/// With the number in place of what the machine says at the same pointer; rates and costs follow
/// when the machine is written and read again.
[[nodiscard]] MachineSpec with_number(MachineSpec machine, NumberSource number);

/// The machine that a device is believed to be: `chosen` (a name or a path, as load_machine takes
/// it), or else the longest of the library's names that the device's name has as a word, so that
/// "NVIDIA H200" is h200. Throws InputError if there is none.
[[nodiscard]] MachineSpec base_machine(std::string_view device_name, const std::string& chosen);

/// Measures the rules of a device and the durations of its kernels. `base`: the machine that the
/// device is believed to be; its numbers stay where nothing was measured, and it is what the
/// simulator is asked for comparison.
/// Throws what the bench throws.
[[nodiscard]] DeviceCalibration calibrate_device(DeviceBench& bench,
                                                 const MachineSpec& base,
                                                 const DeviceCalibrationOptions& options,
                                                 const RuleProgress& progress);

/// `base` with the numbers of the sheet's rules in place of its own, where they were measured and
/// are more than a bound.
[[nodiscard]] MachineSpec with_measured_rules(MachineSpec base, const DeviceReport& sheet);

/// What is measured for the profile: products in every arithmetic that `device` has a rate for and
/// in every layout, point-wise kernels, reductions and copies; `all_sizes`: of what memory bounds
/// each power of two, where the times have steps at several caches (not with `quick`).
[[nodiscard]] std::vector<MeasuredKernel> profiled_kernels(const Device& device,
                                                           bool quick,
                                                           bool all_sizes = false);

/// How much longer small memory-bound kernels of a kind take while others like them keep all units
/// busy: as many chains of them side by side as the units can run, over one chain. At least 1.
[[nodiscard]] CoRunSlowDown measure_kernel_co_run(DeviceBench& bench,
                                                  const BenchEffort& effort,
                                                  TaskKind kind,
                                                  double node_gap_us,
                                                  const CutRule& cut,
                                                  std::uint32_t units);

/// The kernel's duration, by what a device graph of more of them in a row takes longer, less
/// `node_gap_us` for each: the host takes no part in it. As in graph_chain() all find their
/// operands in a cache that is large enough, or, with `flushed` bytes, none does; the sample does
/// not say.
[[nodiscard]] KernelSample measure_kernel(DeviceBench& bench,
                                          const BenchEffort& effort,
                                          const MeasuredKernel& kernel,
                                          double node_gap_us,
                                          const CutRule& cut,
                                          std::uint32_t units,
                                          Bytes flushed = Bytes{0});

/// The kernel's durations with its operands in the last-level cache (Kernel::bytes_cached is all it
/// reads) and from memory (bytes_cached 0): weights that a pass uses once a step come from memory
/// where all layers' together exceed the cache. Only the second of a kernel that moves more than
/// half of the cache, only the first, with bytes_cached 0, where the device's cache is not known or
/// the kernel is a copy between host and device.
[[nodiscard]] std::vector<KernelSample> measure_in_and_out_of_cache(DeviceBench& bench,
                                                                    const BenchEffort& effort,
                                                                    const MeasuredKernel& kernel,
                                                                    const Device& device,
                                                                    double node_gap_us,
                                                                    const CutRule& cut);

}  // namespace schedlab
