// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/array_kernels.hpp"
#include "real_exec/cuda/kernel_launch.hpp"

#include <cuda_bf16.h>

namespace schedlab::detail {
namespace {

constexpr int threads_per_block = 128;
constexpr int max_blocks = 1024;  // assumed: fills any device; longer arrays are gone over in steps

/// Of an array that is in fp32, or in bf16.
__device__ float element(const float* full, const Bf16* low, long long at) {
  if (low == nullptr) return full[at];
  return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(low)[at]);
}

constexpr int sum_columns = 32;  // of a block: one warp reads 128 neighbouring bytes
constexpr int sum_rows = 32;
constexpr int sums_at_once = 4;  // of a thread: loads that do not wait for each other

__global__ void column_sums_kernel(DeviceColumnSums s) {
  await_predecessor();
  __shared__ float parts[sum_rows][sum_columns];
  const int column = static_cast<int>(blockIdx.x) * sum_columns + static_cast<int>(threadIdx.x);
  const int part = static_cast<int>(threadIdx.y);
  float sums[sums_at_once] = {};
  if (column < s.columns) {
    for (int first = part; first < s.rows; first += sums_at_once * sum_rows) {
#pragma unroll
      for (int i = 0; i < sums_at_once; ++i) {
        const int row = first + i * sum_rows;
        if (row < s.rows)
          sums[i] += element(s.d, s.d_low, static_cast<long long>(row) * s.stride + column);
      }
    }
  }
  parts[part][threadIdx.x] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  __syncthreads();
  if (part != 0 || column >= s.columns) return;
  float total = s.sums[column];
  for (int other = 0; other < sum_rows; ++other) total += parts[other][threadIdx.x];
  s.sums[column] = total;
}

constexpr int tile = 32;  // a warp reads and writes neighbouring elements
constexpr int tile_threads = 8;

template <class Element>
__device__ void transpose_tile(const Element* from, Element* to, const DeviceTranspose& t) {
  __shared__ Element values[tile][tile + 1];  // one more: columns lie in different banks
  const int along = static_cast<int>(threadIdx.x);
  const int first_row = static_cast<int>(blockIdx.x) * tile;
  const int first_column = static_cast<int>(blockIdx.y) * tile;
  for (int i = static_cast<int>(threadIdx.y); i < tile; i += tile_threads) {
    const int row = first_row + i;
    const int column = first_column + along;
    if (row < t.rows && column < t.columns) {
      values[i][along] = from[static_cast<long long>(row) * t.from_stride + column];
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.y); i < tile; i += tile_threads) {
    const int row = first_row + along;
    const int column = first_column + i;
    if (row < t.rows && column < t.columns) {
      to[static_cast<long long>(column) * t.to_stride + row] = values[along][i];
    }
  }
}

__global__ void transpose_kernel(DeviceTranspose t) {
  await_predecessor();
  if (t.to_low == nullptr) {
    transpose_tile(t.from, t.to, t);
  } else {
    transpose_tile(t.from_low, t.to_low, t);
  }
}

__global__ void add_kernel(DeviceAddition a) {
  await_predecessor();
  const long long all = static_cast<long long>(a.rows) * a.columns;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += step) {
    const long long at = i / a.columns * a.stride + i % a.columns;
    a.to[at] += a.from[at];
  }
}

__global__ void sum_gradients_kernel(DeviceGradientSum s) {
  await_predecessor();
  const long long all = static_cast<long long>(s.rows) * s.columns;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += step) {
    const long long above = i / s.columns * s.upstream_stride + i % s.columns;
    float sum = s.dh[i];
    for (int slice = 1; slice < s.slices; ++slice) sum += s.dh[slice * all + i];
    for (int from = 0; from < 2; ++from) {
      if (s.upstream[from] == nullptr && s.upstream_low[from] == nullptr) continue;
      sum += element(s.upstream[from], s.upstream_low[from], above);
    }
    if (s.to_low == nullptr) {
      s.to[i] = sum;
    } else {
      reinterpret_cast<__nv_bfloat16*>(s.to_low)[i] = __float2bfloat16_rn(sum);
    }
  }
}

constexpr int loss_threads = 256;

/// The sum over the block's threads, in the first of them.
__device__ double block_sum(double value) {
  __shared__ double values[loss_threads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = loss_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  return values[0];
}

__global__ void loss_parts_kernel(DeviceLoss l) {
  await_predecessor();
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long of_step = static_cast<long long>(l.batch) * l.columns;
  double sum = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < l.elements;
       i += step) {
    const bool counts = l.lengths == nullptr || i / of_step < l.lengths[i % of_step / l.columns];
    if (!counts) {
      l.dy[i] = 0.0F;
      continue;
    }
    const float y =
        l.y_steps == nullptr ? element(l.y, l.y_low, i) : l.y_steps[i / of_step][i % of_step];
    const float difference = y - l.target[i];
    l.dy[i] = difference * l.scale;
    sum += static_cast<double>(difference) * static_cast<double>(difference);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) l.parts[blockIdx.x] = sum;
}

__global__ void loss_kernel(DeviceLoss l, int parts) {
  await_predecessor();
  static_assert(loss_threads == loss_parts, "one thread for each part");
  const double sum = block_sum(threadIdx.x < parts ? l.parts[threadIdx.x] : 0.0);
  if (threadIdx.x == 0) *l.loss = static_cast<float>(0.5 * sum / l.divisor);
}

// Kingma and Ba, arXiv 1412.6980: the constants proposed there.
constexpr float decay_mean = 0.9F;
constexpr float decay_variance = 0.999F;
constexpr float epsilon = 1e-8F;

/// The first step of the optimizer.
__global__ void update_kernel(DeviceUpdate u) {
  await_predecessor();
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < u.elements;
       i += step) {
    const float g = u.gradient[i];
    float w = u.w[i];
    if (u.mean == nullptr) {
      w -= u.rate * g;
    } else {
      const float m = decay_mean * u.mean[i] + (1.0F - decay_mean) * g;
      const float v = decay_variance * u.variance[i] + (1.0F - decay_variance) * (g * g);
      u.mean[i] = m;
      u.variance[i] = v;
      const float corrected_m = m * (1.0F / (1.0F - decay_mean));
      const float corrected_v = v * (1.0F / (1.0F - decay_variance));
      w -= u.rate * corrected_m / (sqrtf(corrected_v) + epsilon);
    }
    u.w[i] = w;
    if (u.w_low != nullptr) {
      reinterpret_cast<__nv_bfloat16*>(u.w_low)[i] = __float2bfloat16_rn(w);
    }
  }
}

__global__ void round_kernel(const float* from, Bf16* to, long long elements) {
  await_predecessor();
  auto* const low = reinterpret_cast<__nv_bfloat16*>(to);
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    low[i] = __float2bfloat16_rn(from[i]);
  }
}

unsigned blocks_for(long long elements) {
  const long long blocks = (elements + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(blocks > max_blocks ? max_blocks : blocks);
}

}  // namespace

void add_column_sums(const DeviceColumnSums& args, KernelStream stream) {
  const dim3 threads(sum_columns, sum_rows);
  const auto blocks = static_cast<unsigned>((args.columns + sum_columns - 1) / sum_columns);
  launch_kernel("column_sums", column_sums_kernel, {blocks, threads, stream}, args);
}

void transpose(const DeviceTranspose& args, KernelStream stream) {
  const dim3 threads(tile, tile_threads);
  const dim3 blocks(static_cast<unsigned>((args.rows + tile - 1) / tile),
                    static_cast<unsigned>((args.columns + tile - 1) / tile));
  launch_kernel("transpose", transpose_kernel, {blocks, threads, stream}, args);
}

void add(const DeviceAddition& args, KernelStream stream) {
  const long long all = static_cast<long long>(args.rows) * args.columns;
  launch_kernel("add", add_kernel, {blocks_for(all), threads_per_block, stream}, args);
}

void sum_gradients(const DeviceGradientSum& args, KernelStream stream) {
  const long long all = static_cast<long long>(args.rows) * args.columns;
  launch_kernel(
      "sum_gradients", sum_gradients_kernel, {blocks_for(all), threads_per_block, stream}, args);
}

void squared_error(const DeviceLoss& args, KernelStream stream) {
  const long long blocks = (args.elements + loss_threads - 1) / loss_threads;
  const int parts = blocks > loss_parts ? loss_parts : static_cast<int>(blocks);
  const auto grid = static_cast<unsigned>(parts);
  launch_kernel("loss_parts", loss_parts_kernel, {grid, loss_threads, stream}, args);
  launch_kernel("loss", loss_kernel, {1, loss_threads, stream}, args, parts);
}

void update_weights(const DeviceUpdate& args, KernelStream stream) {
  launch_kernel(
      "update", update_kernel, {blocks_for(args.elements), threads_per_block, stream}, args);
}

void round_to_bf16(const float* from, Bf16* to, long long elements, KernelStream stream) {
  launch_kernel("round_to_bf16",
                round_kernel,
                {blocks_for(elements), threads_per_block, stream},
                from,
                to,
                elements);
}

}  // namespace schedlab::detail
