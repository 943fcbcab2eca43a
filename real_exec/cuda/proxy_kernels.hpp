// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/kernel_stream.hpp"

#include <cstddef>

namespace schedlab::detail {

/// What a block of a spinning kernel leaves behind.
struct SpinRecord {
  unsigned long long started_ns = 0;  ///< %globaltimer
  unsigned long long ended_ns = 0;
  unsigned unit = 0;  ///< %smid
};

/// A kernel that does nothing for a number of clock cycles of its multiprocessor.
struct SpinGrid {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t shared_memory = 0;  ///< bytes, of each block
};
/// `records`: one per block; nullptr: none.
void spin(const SpinGrid& grid, long long cycles, SpinRecord* records, KernelStream stream);
/// Lets kernels that spin have so much shared memory per block.
void allow_spin_shared_memory(std::size_t bytes);
/// Blocks of the grid's shape that a multiprocessor holds at once.
[[nodiscard]] unsigned spin_blocks_per_unit(const SpinGrid& grid);

/// Reads and writes float4 elements: `read` of `from`, `written` of `to`.
struct StreamedBytes {
  const float* from = nullptr;
  float* to = nullptr;
  long long read = 0;     ///< elements of 16 bytes
  long long written = 0;  ///< the same
  unsigned blocks = 0;    ///< 0: as many as the elements need, at most 1024
};
void stream_bytes(const StreamedBytes& args, KernelStream stream);

/// Fills an array of floats with numbers in [-0.5, 0.5) that repeat every 4096.
void fill_pattern(float* to, long long elements, KernelStream stream);

}  // namespace schedlab::detail
