// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace schedlab::detail {

/// The point-wise kernels of recurrent cells, sums, loss and optimizer, in OpenCL C 1.2. What they
/// compute, and the order of gates, is said in real_exec/recurrent_device/kernel_arguments.hpp;
/// every pointer is a buffer and the number of its first element.
inline constexpr const char* opencl_recurrent_kernels = R"(
#define FROM(name) __global const float* name##_buffer, ulong name##_at
#define INTO(name) __global float* name##_buffer, ulong name##_at
#define USE_FROM(name) __global const float* name = name##_buffer + name##_at
#define USE_INTO(name) __global float* name = name##_buffer + name##_at

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif

float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

// This work item's row and column, or nothing to do.
#define MY_ELEMENT                                  \
  const int row = (int)(get_global_id(0) / hidden); \
  const int column = (int)(get_global_id(0) % hidden); \
  if (row >= rows) return

__kernel void lstm_forward(FROM(products), INTO(gates), FROM(recurrent), FROM(bias), FROM(before),
                           INTO(c), INTO(h), int whole, int rows, int hidden, int products_stride,
                           int gates_stride, int recurrent_stride, int before_stride,
                           int h_stride) {
  MY_ELEMENT;
  USE_FROM(products); USE_INTO(gates); USE_FROM(recurrent); USE_FROM(bias); USE_FROM(before);
  USE_INTO(c); USE_INTO(h);
  float gate[4];
  for (int g = 0; g < 4; ++g) {
    const int at = g * hidden + column;
    const float sum = products[row * products_stride + at] +
                      recurrent[row * recurrent_stride + at] + bias[at];
    gate[g] = g == 2 ? tanh(sum) : sigmoid(sum);
  }
  for (int g = 0; g < 4; ++g) gates[row * gates_stride + g * hidden + column] = gate[g];
  if (!whole) return;
  const float now = whole == 2 ? c[row * hidden + column]
                               : gate[1] * before[row * before_stride + column] + gate[0] * gate[2];
  c[row * hidden + column] = now;
  h[row * h_stride + column] = gate[3] * tanh(now);
}

__kernel void gru_forward(FROM(products), INTO(gates), FROM(recurrent), FROM(bias), FROM(before),
                          INTO(h), int whole, int rows, int hidden, int products_stride,
                          int gates_stride, int recurrent_stride, int before_stride,
                          int h_stride) {
  MY_ELEMENT;
  USE_FROM(products); USE_INTO(gates); USE_FROM(recurrent); USE_FROM(bias); USE_FROM(before);
  USE_INTO(h);
  products += row * products_stride + column;
  recurrent += row * recurrent_stride + column;
  gates += row * gates_stride + column;
  bias += column;
  const float x_n = products[0];
  const float r = sigmoid(products[hidden] + recurrent[0] + bias[hidden]);
  const float z = sigmoid(products[2 * hidden] + recurrent[hidden] + bias[2 * hidden]);
  const float a = recurrent[2 * hidden] + bias[3 * hidden];
  const float n = tanh(x_n + bias[0] + r * a);
  gates[0] = n;
  gates[hidden] = r;
  gates[2 * hidden] = z;
  gates[3 * hidden] = a;
  if (!whole) return;
  h[row * h_stride + column] = n + z * (before[row * before_stride + column] - n);
}

__kernel void reset_gates_forward(INTO(gates), FROM(recurrent), FROM(bias), FROM(before),
                                  INTO(reset), int rows, int hidden, int gates_stride,
                                  int recurrent_stride, int before_stride) {
  MY_ELEMENT;
  USE_INTO(gates); USE_FROM(recurrent); USE_FROM(bias); USE_FROM(before); USE_INTO(reset);
  gates += row * gates_stride + column;
  recurrent += row * recurrent_stride + column;
  const float r = sigmoid(gates[hidden] + recurrent[0] + bias[hidden + column]);
  const float z = sigmoid(gates[2 * hidden] + recurrent[hidden] + bias[2 * hidden + column]);
  gates[hidden] = r;
  gates[2 * hidden] = z;
  reset[row * hidden + column] = r * before[row * before_stride + column];
}

__kernel void reset_cell_forward(INTO(gates), FROM(recurrent), FROM(bias), FROM(before), INTO(h),
                                 int rows, int hidden, int gates_stride, int recurrent_stride,
                                 int before_stride, int h_stride) {
  MY_ELEMENT;
  USE_INTO(gates); USE_FROM(recurrent); USE_FROM(bias); USE_FROM(before); USE_INTO(h);
  gates += row * gates_stride + column;
  const float z = gates[2 * hidden];
  const float n =
      tanh(gates[0] + recurrent[row * recurrent_stride + 2 * hidden + column] + bias[column]);
  gates[0] = n;
  h[row * h_stride + column] = n + z * (before[row * before_stride + column] - n);
}

// The gradient of h: from the step after and from outside the chain.
#define INCOMING FROM(dh), int slices, FROM(first), FROM(second), int upstreams, int upstream_stride
#define SUM_INCOMING                                                          \
  float sum = 0.0f;                                                           \
  for (int s = 0; s < slices; ++s) {                                          \
    sum += dh_buffer[dh_at + (s * rows + row) * hidden + column];             \
  }                                                                           \
  if (upstreams > 0) sum += first_buffer[first_at + row * upstream_stride + column]; \
  if (upstreams > 1) sum += second_buffer[second_at + row * upstream_stride + column]

__kernel void lstm_backward(FROM(gates), FROM(c), FROM(before), INCOMING, INTO(carry),
                            INTO(gradient), int rows, int hidden, int gates_stride,
                            int before_stride, int gradient_stride) {
  MY_ELEMENT;
  USE_FROM(gates); USE_FROM(c); USE_FROM(before); USE_INTO(carry); USE_INTO(gradient);
  const int at = row * hidden + column;
  gates += row * gates_stride + column;
  gradient += row * gradient_stride + column;
  const float i = gates[0];
  const float f = gates[hidden];
  const float g = gates[2 * hidden];
  const float o = gates[3 * hidden];
  SUM_INCOMING;
  const float t = tanh(c[at]);
  const float dc = carry[at] + sum * o * (1.0f - t * t);
  gradient[0] = dc * g * (i * (1.0f - i));
  gradient[hidden] = dc * before[row * before_stride + column] * (f * (1.0f - f));
  gradient[2 * hidden] = dc * i * (1.0f - g * g);
  gradient[3 * hidden] = sum * t * (o * (1.0f - o));
  carry[at] = dc * f;
}

__kernel void gru_backward(FROM(gates), FROM(before), INCOMING, INTO(carry), INTO(gradient),
                           int rows, int hidden, int gates_stride, int before_stride,
                           int gradient_stride) {
  MY_ELEMENT;
  USE_FROM(gates); USE_FROM(before); USE_INTO(carry); USE_INTO(gradient);
  const int at = row * hidden + column;
  gates += row * gates_stride + column;
  gradient += row * gradient_stride + column;
  const float n = gates[0];
  const float r = gates[hidden];
  const float z = gates[2 * hidden];
  const float a = gates[3 * hidden];
  SUM_INCOMING;
  const float all = sum + carry[at];
  const float dn = all * (1.0f - z) * (1.0f - n * n);
  gradient[0] = dn;
  gradient[hidden] = dn * a * (r * (1.0f - r));
  gradient[2 * hidden] = all * (before[row * before_stride + column] - n) * (z * (1.0f - z));
  gradient[3 * hidden] = dn * r;
  carry[at] = all * z;
}

__kernel void reset_candidate_backward(FROM(gates), FROM(before), INCOMING, INTO(carry),
                                       INTO(gradient), int rows, int hidden, int gates_stride,
                                       int before_stride, int gradient_stride) {
  MY_ELEMENT;
  USE_FROM(gates); USE_FROM(before); USE_INTO(carry); USE_INTO(gradient);
  const int at = row * hidden + column;
  gates += row * gates_stride + column;
  gradient += row * gradient_stride + column;
  const float n = gates[0];
  const float z = gates[2 * hidden];
  SUM_INCOMING;
  const float all = sum + carry[at];
  gradient[0] = all * (1.0f - z) * (1.0f - n * n);
  gradient[2 * hidden] = all * (before[row * before_stride + column] - n) * (z * (1.0f - z));
  carry[at] = all * z;
}

__kernel void reset_cell_backward(FROM(gates), FROM(before), FROM(reset), INTO(carry),
                                  INTO(gradient), int rows, int hidden, int gates_stride,
                                  int before_stride, int gradient_stride) {
  MY_ELEMENT;
  USE_FROM(gates); USE_FROM(before); USE_FROM(reset); USE_INTO(carry); USE_INTO(gradient);
  const int at = row * hidden + column;
  const float r = gates[row * gates_stride + hidden + column];
  const float drh = reset[at];
  gradient[row * gradient_stride + hidden + column] =
      drh * before[row * before_stride + column] * (r * (1.0f - r));
  carry[at] += drh * r;
}

// In an order that does not change: a work item for each column.
__kernel void sum_gradients(INTO(to), FROM(dh), FROM(above), FROM(beside), int upstreams, int rows,
                            int columns, int slices, int upstream_stride) {
  const int at = get_global_id(0);
  if (at >= rows * columns) return;
  USE_INTO(to); USE_FROM(dh); USE_FROM(above); USE_FROM(beside);
  const int from = at / columns * upstream_stride + at % columns;
  float sum = dh[at];
  for (int slice = 1; slice < slices; ++slice) sum += dh[slice * rows * columns + at];
  if (upstreams > 0) sum += above[from];
  if (upstreams > 1) sum += beside[from];
  to[at] = sum;
}

__kernel void column_sums(FROM(d), INTO(sums), int rows, int columns, int stride) {
  const int column = (int)get_global_id(0);
  if (column >= columns) return;
  float sum = sums_buffer[sums_at + column];
  for (int row = 0; row < rows; ++row) sum += d_buffer[d_at + (ulong)row * stride + column];
  sums_buffer[sums_at + column] = sum;
}

// Work items side by side write neighbours.
__kernel void transpose(FROM(from), INTO(to), int rows, int columns, int from_stride,
                        int to_stride) {
  const ulong at = get_global_id(0);
  if (at >= (ulong)rows * columns) return;
  const ulong row = at % rows;
  const ulong column = at / rows;
  to_buffer[to_at + column * to_stride + row] = from_buffer[from_at + row * from_stride + column];
}

__kernel void add(INTO(to), FROM(from), int rows, int columns, int stride) {
  const ulong all = (ulong)rows * columns;
  for (ulong i = get_global_id(0); i < all; i += get_global_size(0)) {
    const ulong at = i / columns * stride + i % columns;
    to_buffer[to_at + at] += from_buffer[from_at + at];
  }
}

// The sum of each work item's elements, then their sum in order.
__kernel void loss_parts(FROM(y), FROM(target), INTO(dy), __global wide* parts,
                         __global const int* lengths, int has_lengths, ulong elements, int batch,
                         int columns, float scale) {
  wide sum = 0;
  const ulong of_step = (ulong)batch * columns;
  for (ulong i = get_global_id(0); i < elements; i += get_global_size(0)) {
    if (has_lengths && i / of_step >= (ulong)lengths[i % of_step / columns]) {
      dy_buffer[dy_at + i] = 0.0f;
      continue;
    }
    const float difference = y_buffer[y_at + i] - target_buffer[target_at + i];
    dy_buffer[dy_at + i] = difference * scale;
    sum += (wide)difference * (wide)difference;
  }
  parts[get_global_id(0)] = sum;
}

__kernel void loss_sum(__global const wide* parts, int count, __global float* loss, float divisor) {
  if (get_global_id(0) != 0) return;
  wide sum = 0;
  for (int i = 0; i < count; ++i) sum += parts[i];
  loss[0] = (float)((wide)0.5 * sum / (wide)divisor);
}

__kernel void update_sgd(INTO(w), FROM(gradient), float rate, ulong elements) {
  for (ulong i = get_global_id(0); i < elements; i += get_global_size(0)) {
    w_buffer[w_at + i] -= rate * gradient_buffer[gradient_at + i];
  }
}

// The first step. Kingma and Ba, arXiv 1412.6980: the constants proposed there.
__kernel void update_adam(INTO(w), FROM(gradient), INTO(mean), INTO(variance), float rate,
                          ulong elements) {
  for (ulong i = get_global_id(0); i < elements; i += get_global_size(0)) {
    const float g = gradient_buffer[gradient_at + i];
    const float m = 0.9f * mean_buffer[mean_at + i] + (1.0f - 0.9f) * g;
    const float v = 0.999f * variance_buffer[variance_at + i] + (1.0f - 0.999f) * (g * g);
    mean_buffer[mean_at + i] = m;
    variance_buffer[variance_at + i] = v;
    const float corrected_m = m * (1.0f / (1.0f - 0.9f));
    const float corrected_v = v * (1.0f / (1.0f - 0.999f));
    w_buffer[w_at + i] -= rate * corrected_m / (sqrt(corrected_v) + 1e-8f);
  }
}
)";

}  // namespace schedlab::detail
