// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/drift.hpp"
#include "sim/machine/fitted_parameters.hpp"
#include "sim/machine/matrix_library.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// One kernel of one shape, measured while it had the device to itself.
struct KernelSample {
  std::string operation{};  ///< the task it was measured in: "hidden_1", "gemm"
  Kernel kernel{};          ///< kernel.grid.blocks: how it was cut, at least 1
  std::uint32_t units = 1;  ///< that its blocks could run on
  Duration duration{0};     ///< of a typical run, from the start of the first block to the end of
                            ///< the last
  double spread = 0;        ///< interquartile range of the repetitions over their median
  std::uint32_t repetitions = 1;  ///< that the median is of, without outliers

  friend bool operator==(const KernelSample&, const KernelSample&) = default;
};

/// How much longer a block takes while other units are busy with kernels of the same kind.
struct CoRunSlowDown {
  TaskKind kind = TaskKind::gemm;
  double factor = 1.0;  ///< duration with all units busy over duration alone

  friend bool operator==(const CoRunSlowDown&, const CoRunSlowDown&) = default;
};

/// How kernels are cut into blocks for the units of a device:
///   blocks = clamp(round(max(flops / flops_per_block, bytes / bytes_per_block)), 1, units)
struct CutRule {
  double flops_per_block = 1e6;
  double bytes_per_block = 65536;

  /// FLOPs and bytes as the kernel gives them; bytes: read and written.
  [[nodiscard]] std::uint32_t blocks(const Kernel& kernel, std::uint32_t units) const;
  friend bool operator==(const CutRule&, const CutRule&) = default;
};

/// What of data that was used `distance` bytes of other data ago, itself included, is still in the
/// last-level cache.
struct CacheShare {
  double distance = 0;  ///< over the size of the cache
  double share = 0;     ///< 0 to 1

  friend bool operator==(const CacheShare&, const CacheShare&) = default;
};

/// What was measured of devices of a kind: the durations of kernels, and how well they are known.
/// What has a key of its own in a machine file (host calls, latencies, bandwidth) is not repeated
/// here.
struct KernelProfile {
  std::string how{};        ///< the command and its method; the origin of all numbers here
  std::string date{};       ///< 2026-11-21
  std::string cpu{};        ///< model name
  std::string compiler{};   ///< name and version of what compiled the kernels
  std::string valid{};      ///< the range of shapes, in words
  std::uint32_t units = 1;  ///< workers
  CutRule cut{};
  double noise = 0;  ///< relative spread (interquartile range over median) of equal whole runs
  /// What a stream waits for the last block of a kernel of several, over the mean time of a block.
  double last_block_wait = 0;
  /// What kernels beside a product use of the time in which it only waits (KernelFit::waiting()),
  /// 0 to 1; 0 also where that was not measured.
  double hidden_latency = 0;
  std::vector<CoRunSlowDown> co_run{};
  /// By rising distance, shares that do not rise; empty: not measured.
  std::vector<CacheShare> cache_curve{};
  std::vector<KernelSample> samples{};
  /// What its own samples missed at moments spread over the calibration, in the order of time.
  std::vector<DriftReading> drift{};
  /// How libraries run matrix kernels, fitted to measurements that others published.
  std::vector<MatrixLibrary> libraries{};
  /// How a library runs attention of sequences of new tokens, and of one new token each
  /// (hw_models/attention.hpp), likewise.
  FittedParameters context{};
  FittedParameters generation{};

  /// False where libraries and attention are all there is.
  [[nodiscard]] bool calibrated() const {
    return !samples.empty() || (libraries.empty() && !context.known() && !generation.known());
  }
  /// 1 for a kind that was not measured.
  [[nodiscard]] double co_run_factor(TaskKind kind) const;
  friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

/// The profile of a device that was calibrated; nullptr for others.
[[nodiscard]] inline const KernelProfile* calibrated_profile(const Device& device) {
  return device.profile != nullptr && device.profile->calibrated() ? device.profile.get() : nullptr;
}

}  // namespace schedlab
