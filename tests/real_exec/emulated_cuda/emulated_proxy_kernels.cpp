// SPDX-License-Identifier: Apache-2.0
// Kernels that only pass time, which is not emulated: a cycle is a nanosecond.
#include "real_exec/cuda/proxy_kernels.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"

#include <algorithm>

namespace schedlab::detail {

void spin(const SpinGrid& grid, long long cycles, SpinRecord* records, KernelStream stream) {
  if (stream.programmatic) testing::count_programmatic_launch();
  testing::enqueue(
      stream.handle,
      [=] {
        for (unsigned block = 0; records != nullptr && block < grid.blocks; ++block) {
          records[block] = {1, 1 + static_cast<unsigned long long>(cycles), block % 4};
        }
      },
      true);
}

void allow_spin_shared_memory(std::size_t /*bytes*/) {}

unsigned spin_blocks_per_unit(const SpinGrid& grid) {
  return grid.threads > 1024 ? 0 : 2048 / grid.threads;
}

void stream_bytes(const StreamedBytes& args, KernelStream stream) {
  if (stream.programmatic) testing::count_programmatic_launch();
  testing::enqueue(
      stream.handle,
      [=] {
        const long long copied = std::min(args.read, args.written);
        std::copy_n(args.from, 4 * copied, args.to);
        std::fill_n(args.to + 4 * copied, 4 * (args.written - copied), 1.0F);
      },
      true);
}

void fill_pattern(float* to, long long elements, KernelStream stream) {
  if (stream.programmatic) testing::count_programmatic_launch();
  testing::enqueue(
      stream.handle, [=] { std::fill_n(to, elements, 0.25F); }, true);
}

}  // namespace schedlab::detail
