// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_check.hpp"
#include "real_exec/cuda/kernel_launch.hpp"
#include "real_exec/cuda/proxy_kernels.hpp"

namespace schedlab::detail {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr unsigned max_blocks =
    1024;  // assumed: fills any device; longer arrays are gone over in steps

__device__ unsigned long long global_timer() {
  unsigned long long ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ unsigned my_unit() {
  unsigned unit = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
  return unit;
}

__global__ void spin_kernel(long long cycles, SpinRecord* records) {
  await_predecessor();
  const long long start = clock64();
  const unsigned long long started = records == nullptr ? 0 : global_timer();
  while (clock64() - start < cycles) {
  }
  if (records == nullptr) return;
  __syncthreads();
  if (threadIdx.x == 0) records[blockIdx.x] = {started, global_timer(), my_unit()};
}

__global__ void stream_kernel(StreamedBytes s) {
  await_predecessor();
  const auto* const from = reinterpret_cast<const float4*>(s.from);
  auto* const to = reinterpret_cast<float4*>(s.to);
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long copied = s.read < s.written ? s.read : s.written;
  for (long long i = first; i < copied; i += step) to[i] = from[i];
  for (long long i = copied + first; i < s.written; i += step) to[i] = float4{1, 1, 1, 1};
  float sum = 0;
  for (long long i = copied + first; i < s.read; i += step) {
    const float4 value = from[i];
    sum += value.x + value.y + value.z + value.w;
  }
  // Never so, as the values are small: the reads must not vanish.
  if (sum == 1e30F) to[0].x = sum;
}

__global__ void pattern_kernel(float* to, long long elements) {
  await_predecessor();
  constexpr unsigned period = 4096;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    // Multiplicative hashing: the digits of an index, stirred (Knuth, TAOCP 3, 6.4).
    const unsigned stirred = static_cast<unsigned>(i % period) * 2654435761U;
    to[i] = static_cast<float>(stirred >> 8U) / 16777216.0F - 0.5F;
  }
}

unsigned blocks_for(long long elements) {
  const long long blocks = (elements + threads_per_block - 1) / threads_per_block;
  if (blocks < 1) return 1;
  return blocks > max_blocks ? max_blocks : static_cast<unsigned>(blocks);
}

}  // namespace

void spin(const SpinGrid& grid, long long cycles, SpinRecord* records, KernelStream stream) {
  launch_kernel("spin",
                spin_kernel,
                {grid.blocks, grid.threads, stream, grid.shared_memory},
                cycles,
                records);
}

void allow_spin_shared_memory(std::size_t bytes) {
  check_cuda(cudaFuncSetAttribute(
                 spin_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "cudaFuncSetAttribute(shared memory of a spin)");
}

unsigned spin_blocks_per_unit(const SpinGrid& grid) {
  int blocks = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &blocks, spin_kernel, static_cast<int>(grid.threads), grid.shared_memory),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return static_cast<unsigned>(blocks);
}

void stream_bytes(const StreamedBytes& args, KernelStream stream) {
  const long long most = args.read > args.written ? args.read : args.written;
  const unsigned blocks = args.blocks > 0 ? args.blocks : blocks_for(most);
  launch_kernel("stream_bytes", stream_kernel, {blocks, threads_per_block, stream}, args);
}

void fill_pattern(float* to, long long elements, KernelStream stream) {
  launch_kernel("fill_pattern",
                pattern_kernel,
                {blocks_for(elements), threads_per_block, stream},
                to,
                elements);
}

}  // namespace schedlab::detail
