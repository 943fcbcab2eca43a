// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/kernel_launch.hpp"
#include "real_exec/cuda/recurrent_kernels.hpp"

#include <cuda_bf16.h>

namespace schedlab::detail {
namespace {

constexpr int threads_per_block = 128;

/// `width` neighbouring elements, read and written at once.
template <int width>
struct alignas(4 * width) Pack {
  float v[width];
};
template <int width>
struct alignas(2 * width) LowPack {
  __nv_bfloat16 v[width];
};

template <int width>
__device__ Pack<width> load(const float* from) {
  return *reinterpret_cast<const Pack<width>*>(from);
}
template <int width>
__device__ void store(float* to, const Pack<width>& pack) {
  *reinterpret_cast<Pack<width>*>(to) = pack;
}
template <int width>
__device__ void store_low(Bf16* to, const Pack<width>& pack) {
  LowPack<width> low;
#pragma unroll
  for (int i = 0; i < width; ++i) low.v[i] = __float2bfloat16_rn(pack.v[i]);
  *reinterpret_cast<LowPack<width>*>(to) = low;
}

// Of an array that is in fp32, or in bf16.
template <int width>
__device__ Pack<width> load(const float* full, const Bf16* low, long long at) {
  if (low == nullptr) return load<width>(full + at);
  const LowPack<width> stored = *reinterpret_cast<const LowPack<width>*>(low + at);
  Pack<width> pack;
#pragma unroll
  for (int i = 0; i < width; ++i) pack.v[i] = __bfloat162float(stored.v[i]);
  return pack;
}
template <int width>
__device__ void store(float* full, Bf16* low, long long at, const Pack<width>& pack) {
  if (low == nullptr) {
    store<width>(full + at, pack);
  } else {
    store_low<width>(low + at, pack);
  }
}

__device__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

/// The row and the first column of this thread's elements; false: it has none.
template <int width>
__device__ bool my_elements(int rows, int hidden, int& row, int& column) {
  const int packs = hidden / width;
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  row = at / packs;
  column = at % packs * width;
  return row < rows;
}

template <int width>
__global__ void lstm_forward_kernel(DeviceCellForward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const long long zx = static_cast<long long>(row) * s.products_stride + column;
  const long long z = static_cast<long long>(row) * s.gates_stride + column;
  const float* zh = s.recurrent + static_cast<long long>(row) * s.recurrent_stride + column;
  Pack<width> gate[4];
#pragma unroll
  for (int g = 0; g < 4; ++g) {
    const Pack<width> x = load<width>(s.products, s.products_low, zx + g * s.hidden);
    const Pack<width> r = load<width>(zh + g * s.hidden);
    const Pack<width> b = load<width>(s.bias + g * s.hidden + column);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float sum = x.v[i] + r.v[i] + b.v[i];
      gate[g].v[i] = g == 2 ? tanhf(sum) : sigmoid(sum);
    }
    store<width>(s.gates, s.gates_low, z + g * s.hidden, gate[g]);
  }
  if (s.h == nullptr && s.h_low == nullptr) return;
  Pack<width> c;
  Pack<width> h;
  if (s.before == nullptr) {
    c = load<width>(s.c + at);
  } else {
    const Pack<width> before =
        load<width>(s.before + static_cast<long long>(row) * s.before_stride + column);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      c.v[i] = gate[1].v[i] * before.v[i] + gate[0].v[i] * gate[2].v[i];
    }
    store<width>(s.c + at, c);
  }
#pragma unroll
  for (int i = 0; i < width; ++i) h.v[i] = gate[3].v[i] * tanhf(c.v[i]);
  const long long h_at = static_cast<long long>(row) * s.h_stride + column;
  store<width>(s.h, s.h_low, h_at, h);
}

template <int width>
__global__ void gru_forward_kernel(DeviceCellForward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long zx = static_cast<long long>(row) * s.products_stride + column;
  const long long gates = static_cast<long long>(row) * s.gates_stride + column;
  const float* zh = s.recurrent + static_cast<long long>(row) * s.recurrent_stride + column;
  const float* bias = s.bias + column;
  const Pack<width> x_n = load<width>(s.products, s.products_low, zx);
  const Pack<width> x_r = load<width>(s.products, s.products_low, zx + s.hidden);
  const Pack<width> x_z = load<width>(s.products, s.products_low, zx + 2 * s.hidden);
  const Pack<width> h_r = load<width>(zh);
  const Pack<width> h_z = load<width>(zh + s.hidden);
  const Pack<width> h_n = load<width>(zh + 2 * s.hidden);
  const Pack<width> b_n = load<width>(bias);
  const Pack<width> b_r = load<width>(bias + s.hidden);
  const Pack<width> b_z = load<width>(bias + 2 * s.hidden);
  const Pack<width> b_a = load<width>(bias + 3 * s.hidden);
  Pack<width> n;
  Pack<width> r;
  Pack<width> z;
  Pack<width> a;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    r.v[i] = sigmoid(x_r.v[i] + h_r.v[i] + b_r.v[i]);
    z.v[i] = sigmoid(x_z.v[i] + h_z.v[i] + b_z.v[i]);
    a.v[i] = h_n.v[i] + b_a.v[i];
    n.v[i] = tanhf(x_n.v[i] + b_n.v[i] + r.v[i] * a.v[i]);
  }
  store<width>(s.gates, s.gates_low, gates, n);
  store<width>(s.gates, s.gates_low, gates + s.hidden, r);
  store<width>(s.gates, s.gates_low, gates + 2 * s.hidden, z);
  store<width>(s.gates, s.gates_low, gates + 3 * s.hidden, a);
  if (s.h == nullptr && s.h_low == nullptr) return;
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  Pack<width> h;
#pragma unroll
  for (int i = 0; i < width; ++i) h.v[i] = n.v[i] + z.v[i] * (before.v[i] - n.v[i]);
  const long long h_at = static_cast<long long>(row) * s.h_stride + column;
  store<width>(s.h, s.h_low, h_at, h);
}

template <int width>
__global__ void reset_gates_forward_kernel(DeviceCellForward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const long long zx = static_cast<long long>(row) * s.gates_stride + column;
  const float* zh = s.recurrent + static_cast<long long>(row) * s.recurrent_stride + column;
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> x_r = load<width>(s.gates, s.gates_low, zx + s.hidden);
  const Pack<width> x_z = load<width>(s.gates, s.gates_low, zx + 2 * s.hidden);
  const Pack<width> h_r = load<width>(zh);
  const Pack<width> h_z = load<width>(zh + s.hidden);
  const Pack<width> b_r = load<width>(s.bias + s.hidden + column);
  const Pack<width> b_z = load<width>(s.bias + 2 * s.hidden + column);
  Pack<width> r;
  Pack<width> z;
  Pack<width> reset;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    r.v[i] = sigmoid(x_r.v[i] + h_r.v[i] + b_r.v[i]);
    z.v[i] = sigmoid(x_z.v[i] + h_z.v[i] + b_z.v[i]);
    reset.v[i] = r.v[i] * before.v[i];
  }
  store<width>(s.gates, s.gates_low, zx + s.hidden, r);
  store<width>(s.gates, s.gates_low, zx + 2 * s.hidden, z);
  store<width>(s.reset, s.reset_low, at, reset);
}

template <int width>
__global__ void reset_cell_forward_kernel(DeviceCellForward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long zx = static_cast<long long>(row) * s.gates_stride + column;
  const float* zh = s.recurrent + static_cast<long long>(row) * s.recurrent_stride + column;
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> x_n = load<width>(s.gates, s.gates_low, zx);
  const Pack<width> z = load<width>(s.gates, s.gates_low, zx + 2 * s.hidden);
  const Pack<width> c_n = load<width>(zh + 2 * s.hidden);
  const Pack<width> b_n = load<width>(s.bias + column);
  Pack<width> n;
  Pack<width> h;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    n.v[i] = tanhf(x_n.v[i] + c_n.v[i] + b_n.v[i]);
    h.v[i] = n.v[i] + z.v[i] * (before.v[i] - n.v[i]);
  }
  store<width>(s.gates, s.gates_low, zx, n);
  const long long h_at = static_cast<long long>(row) * s.h_stride + column;
  store<width>(s.h, s.h_low, h_at, h);
}

/// Gradient of h: from the step after and from outside the chain.
template <int width>
__device__ Pack<width> incoming(const DeviceCellBackward& s, int row, int column) {
  const float* dh = s.dh + static_cast<long long>(row) * s.hidden + column;
  Pack<width> sum = load<width>(dh);
  for (int slice = 1; slice < s.slices; ++slice) {
    dh += static_cast<long long>(s.rows) * s.hidden;
    const Pack<width> more = load<width>(dh);
#pragma unroll
    for (int i = 0; i < width; ++i) sum.v[i] += more.v[i];
  }
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (s.upstream[u] == nullptr && s.upstream_low[u] == nullptr) continue;
    const Pack<width> more = load<width>(
        s.upstream[u], s.upstream_low[u], static_cast<long long>(row) * s.upstream_stride + column);
#pragma unroll
    for (int i = 0; i < width; ++i) sum.v[i] += more.v[i];
  }
  return sum;
}

template <int width>
__device__ void store_gradient(const DeviceCellBackward& s,
                               int row,
                               int column,
                               const Pack<width>& gradient) {
  const long long at = static_cast<long long>(row) * s.gate_gradients_stride + column;
  store<width>(s.gate_gradients, s.gate_gradients_low, at, gradient);
}

template <int width>
__global__ void lstm_backward_kernel(DeviceCellBackward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const long long gates = static_cast<long long>(row) * s.gates_stride + column;
  const Pack<width> i_gate = load<width>(s.gates, s.gates_low, gates);
  const Pack<width> f_gate = load<width>(s.gates, s.gates_low, gates + s.hidden);
  const Pack<width> g_gate = load<width>(s.gates, s.gates_low, gates + 2 * s.hidden);
  const Pack<width> o_gate = load<width>(s.gates, s.gates_low, gates + 3 * s.hidden);
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> c = load<width>(s.c + at);
  const Pack<width> dh = incoming<width>(s, row, column);
  Pack<width> carry = load<width>(s.carry + at);
  Pack<width> d_i;
  Pack<width> d_f;
  Pack<width> d_g;
  Pack<width> d_o;
#pragma unroll
  for (int j = 0; j < width; ++j) {
    const float i = i_gate.v[j];
    const float f = f_gate.v[j];
    const float g = g_gate.v[j];
    const float o = o_gate.v[j];
    const float t = tanhf(c.v[j]);
    const float dc = carry.v[j] + dh.v[j] * o * (1.0F - t * t);
    d_i.v[j] = dc * g * (i * (1.0F - i));
    d_f.v[j] = dc * before.v[j] * (f * (1.0F - f));
    d_g.v[j] = dc * i * (1.0F - g * g);
    d_o.v[j] = dh.v[j] * t * (o * (1.0F - o));
    carry.v[j] = dc * f;
  }
  store_gradient<width>(s, row, column, d_i);
  store_gradient<width>(s, row, s.hidden + column, d_f);
  store_gradient<width>(s, row, 2 * s.hidden + column, d_g);
  store_gradient<width>(s, row, 3 * s.hidden + column, d_o);
  store<width>(s.carry + at, carry);
}

template <int width>
__global__ void gru_backward_kernel(DeviceCellBackward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const long long gates = static_cast<long long>(row) * s.gates_stride + column;
  const Pack<width> n = load<width>(s.gates, s.gates_low, gates);
  const Pack<width> r = load<width>(s.gates, s.gates_low, gates + s.hidden);
  const Pack<width> z = load<width>(s.gates, s.gates_low, gates + 2 * s.hidden);
  const Pack<width> a = load<width>(s.gates, s.gates_low, gates + 3 * s.hidden);
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> sum = incoming<width>(s, row, column);
  Pack<width> carry = load<width>(s.carry + at);
  Pack<width> d_n;
  Pack<width> d_r;
  Pack<width> d_z;
  Pack<width> d_nr;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const float dh = sum.v[i] + carry.v[i];
    const float dn = dh * (1.0F - z.v[i]) * (1.0F - n.v[i] * n.v[i]);
    d_n.v[i] = dn;
    d_r.v[i] = dn * a.v[i] * (r.v[i] * (1.0F - r.v[i]));
    d_z.v[i] = dh * (before.v[i] - n.v[i]) * (z.v[i] * (1.0F - z.v[i]));
    d_nr.v[i] = dn * r.v[i];
    carry.v[i] = dh * z.v[i];
  }
  store_gradient<width>(s, row, column, d_n);
  store_gradient<width>(s, row, s.hidden + column, d_r);
  store_gradient<width>(s, row, 2 * s.hidden + column, d_z);
  store_gradient<width>(s, row, 3 * s.hidden + column, d_nr);
  store<width>(s.carry + at, carry);
}

template <int width>
__global__ void reset_candidate_backward_kernel(DeviceCellBackward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const long long gates = static_cast<long long>(row) * s.gates_stride + column;
  const Pack<width> n = load<width>(s.gates, s.gates_low, gates);
  const Pack<width> z = load<width>(s.gates, s.gates_low, gates + 2 * s.hidden);
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> sum = incoming<width>(s, row, column);
  Pack<width> carry = load<width>(s.carry + at);
  Pack<width> d_n;
  Pack<width> d_z;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    const float dh = sum.v[i] + carry.v[i];
    d_n.v[i] = dh * (1.0F - z.v[i]) * (1.0F - n.v[i] * n.v[i]);
    d_z.v[i] = dh * (before.v[i] - n.v[i]) * (z.v[i] * (1.0F - z.v[i]));
    carry.v[i] = dh * z.v[i];
  }
  store_gradient<width>(s, row, column, d_n);
  store_gradient<width>(s, row, 2 * s.hidden + column, d_z);
  store<width>(s.carry + at, carry);
}

template <int width>
__global__ void reset_cell_backward_kernel(DeviceCellBackward s) {
  await_predecessor();
  int row = 0;
  int column = 0;
  if (!my_elements<width>(s.rows, s.hidden, row, column)) return;
  const long long at = static_cast<long long>(row) * s.hidden + column;
  const Pack<width> r = load<width>(
      s.gates, s.gates_low, static_cast<long long>(row) * s.gates_stride + s.hidden + column);
  const Pack<width> before =
      load<width>(s.before, s.before_low, static_cast<long long>(row) * s.before_stride + column);
  const Pack<width> drh = load<width>(s.reset_gradient + at);
  Pack<width> carry = load<width>(s.carry + at);
  Pack<width> d_r;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    d_r.v[i] = drh.v[i] * before.v[i] * (r.v[i] * (1.0F - r.v[i]));
    carry.v[i] += drh.v[i] * r.v[i];
  }
  store_gradient<width>(s, row, s.hidden + column, d_r);
  store<width>(s.carry + at, carry);
}

/// Launches the form of a cell's kernel for four elements at a time or for one.
template <class Args>
void launch_cell(void (*wide)(Args),
                 void (*narrow)(Args),
                 const char* name,
                 const Args& args,
                 KernelStream stream) {
  const int width = args.hidden % 4 == 0 ? 4 : 1;
  const long long elements = static_cast<long long>(args.rows) * (args.hidden / width);
  const auto blocks = static_cast<unsigned>((elements + threads_per_block - 1) / threads_per_block);
  launch_kernel(name, width == 4 ? wide : narrow, {blocks, threads_per_block, stream}, args);
}

}  // namespace

void lstm_forward(const DeviceCellForward& args, KernelStream stream) {
  launch_cell(lstm_forward_kernel<4>, lstm_forward_kernel<1>, "lstm_forward", args, stream);
}
void gru_forward(const DeviceCellForward& args, KernelStream stream) {
  launch_cell(gru_forward_kernel<4>, gru_forward_kernel<1>, "gru_forward", args, stream);
}
void reset_gates_forward(const DeviceCellForward& args, KernelStream stream) {
  launch_cell(reset_gates_forward_kernel<4>,
              reset_gates_forward_kernel<1>,
              "reset_gates_forward",
              args,
              stream);
}
void reset_cell_forward(const DeviceCellForward& args, KernelStream stream) {
  launch_cell(reset_cell_forward_kernel<4>,
              reset_cell_forward_kernel<1>,
              "reset_cell_forward",
              args,
              stream);
}

void lstm_backward(const DeviceCellBackward& args, KernelStream stream) {
  launch_cell(lstm_backward_kernel<4>, lstm_backward_kernel<1>, "lstm_backward", args, stream);
}
void gru_backward(const DeviceCellBackward& args, KernelStream stream) {
  launch_cell(gru_backward_kernel<4>, gru_backward_kernel<1>, "gru_backward", args, stream);
}
void reset_candidate_backward(const DeviceCellBackward& args, KernelStream stream) {
  launch_cell(reset_candidate_backward_kernel<4>,
              reset_candidate_backward_kernel<1>,
              "reset_candidate_backward",
              args,
              stream);
}
void reset_cell_backward(const DeviceCellBackward& args, KernelStream stream) {
  launch_cell(reset_cell_backward_kernel<4>,
              reset_cell_backward_kernel<1>,
              "reset_cell_backward",
              args,
              stream);
}

}  // namespace schedlab::detail
