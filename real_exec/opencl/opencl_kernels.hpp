// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace schedlab::detail {

/// Proxy kernels, in OpenCL C 1.2, compiled by the device's driver.
inline constexpr const char* opencl_kernels = R"(
// Work that lasts: dependent multiplications by the first work item of each group. The factor is so
// near to 1 that the value stays normal.
__kernel void spin(ulong steps, __global float* sink) {
  if (get_local_id(0) != 0) return;
  float x = 1.0f + (float)get_group_id(0) * 1e-9f;
  for (ulong i = 0; i < steps; ++i) x = x * 1.0000001f;
  if (x == -1.0f) sink[0] = x;
}

// Reads `read` and writes `written` packs of 16 bytes.
__kernel void stream_bytes(__global const float4* from, ulong from_at,
                           __global float4* to, ulong to_at, ulong read, ulong written) {
  const ulong first = get_global_id(0);
  const ulong step = get_global_size(0);
  const ulong copied = read < written ? read : written;
  for (ulong i = first; i < copied; i += step) to[to_at + i] = from[from_at + i];
  for (ulong i = copied + first; i < written; i += step) to[to_at + i] = (float4)(1.0f);
  float sum = 0.0f;
  for (ulong i = copied + first; i < read; i += step) {
    const float4 value = from[from_at + i];
    sum += value.x + value.y + value.z + value.w;
  }
  // Never so, as the values are small: the reads must not vanish.
  if (sum == 1e30f) to[to_at] = (float4)(sum);
}

// A pattern that repeats: nothing in it is a special value. Multiplicative hashing (Knuth, TAOCP 3,
// 6.4).
__kernel void fill_pattern(__global float* to, ulong elements) {
  for (ulong i = get_global_id(0); i < elements; i += get_global_size(0)) {
    const uint stirred = (uint)(i % 4096) * 2654435761u;
    to[i] = (float)(stirred >> 8) / 16777216.0f - 0.5f;
  }
}
)";

}  // namespace schedlab::detail
