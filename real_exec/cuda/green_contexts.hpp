// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_handles.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::detail {

/// Why the driver has no green contexts; empty: it has. Their functions are looked up in the driver
/// when the program runs.
[[nodiscard]] std::string why_no_green_contexts();

/// The multiprocessors of a device in two parts, with streams on each: those of partition 1, and
/// those that it leaves.
///
/// Errors   InfeasibleError: several partitions, a number of units that the driver does not divide
///          into; DeviceError of the driver.
/// Source   CUDA Driver API, green contexts: cuDevSmResourceSplitByCount, cuGreenCtxStreamCreate.
class GreenContexts {
 public:
  GreenContexts(int device, const std::vector<std::uint32_t>& partitions);
  GreenContexts(const GreenContexts&) = delete;
  GreenContexts& operator=(const GreenContexts&) = delete;
  ~GreenContexts();

  /// One that does not wait for the legacy default stream; gone before this.
  [[nodiscard]] CudaStream make_stream(std::uint32_t partition, int priority) const;

 private:
  std::vector<void*> contexts_;  // CUgreenCtx, by partition
};

}  // namespace schedlab::detail
