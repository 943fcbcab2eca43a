// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_cells.hpp"

#include "real_exec/recurrent/pointwise_simd.hpp"

namespace schedlab::detail {
namespace {

template <class Step>
SCHEDLAB_INLINE std::ptrdiff_t gate_stride(const Step& s) {
  return s.hidden * s.rows;
}

/// Activations of 16 hidden elements of a row.
struct LstmGates {
  Floats i, f, g, o;
};

struct LstmBiases {
  SCHEDLAB_INLINE LstmBiases(const CellForward& s, std::ptrdiff_t panel)
      : i(load(s.bias + panel * lanes)),
        f(load(s.bias + panel * lanes + s.hidden)),
        g(load(s.bias + panel * lanes + 2 * s.hidden)),
        o(load(s.bias + panel * lanes + 3 * s.hidden)) {}
  Floats i, f, g, o;
};

SCHEDLAB_INLINE LstmGates lstm_gates(const CellForward& s,
                                     const LstmBiases& bias,
                                     std::ptrdiff_t at) {
  const std::ptrdiff_t gate = gate_stride(s);
  const float* zx = (s.products != nullptr ? s.products : s.gates) + at;
  const float* zh = s.recurrent + at;
  return {.i = sigmoid(load(zx) + load(zh) + bias.i),
          .f = sigmoid(load(zx + gate) + load(zh + gate) + bias.f),
          .g = tanh(load(zx + 2 * gate) + load(zh + 2 * gate) + bias.g),
          .o = sigmoid(load(zx + 3 * gate) + load(zh + 3 * gate) + bias.o)};
}

SCHEDLAB_INLINE void store_gates(const CellForward& s, const LstmGates& gates, std::ptrdiff_t at) {
  const std::ptrdiff_t gate = gate_stride(s);
  store(s.gates + at, gates.i);
  store(s.gates + at + gate, gates.f);
  store(s.gates + at + 2 * gate, gates.g);
  store(s.gates + at + 3 * gate, gates.o);
}

SCHEDLAB_INLINE void lstm_values_body(const CellForward& s) {
  for (std::ptrdiff_t p = s.panels.begin; p < s.panels.end; ++p) {
    const LstmBiases bias{s, p};
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      const std::ptrdiff_t at = (p * s.rows + row) * lanes;
      const LstmGates gates = lstm_gates(s, bias, at);
      store_gates(s, gates, at);
      if (s.h != nullptr) store(s.h + at, gates.o * tanh(load(s.c + at)));
    }
  }
}

/// Two loops over a panel: in one the chain from products to h is longer than the processor looks
/// ahead, and there are more constants than registers (a fifth of the time).
SCHEDLAB_INLINE void lstm_forward_body(const CellForward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  for (std::ptrdiff_t p = s.panels.begin; p < s.panels.end; ++p) {
    const LstmBiases bias{s, p};
    const std::ptrdiff_t begin = p * s.rows * lanes;
    const std::ptrdiff_t end = begin + s.rows * lanes;
    for (std::ptrdiff_t at = begin; at < end; at += lanes) {
      for (std::ptrdiff_t g = 0; g < 4 * gate; g += gate) fetch_to_write(s.gates + at + g);
      fetch_to_write(s.c + at);
      const LstmGates gates = lstm_gates(s, bias, at);
      store_gates(s, gates, at);
      store(s.c + at, gates.f * load(s.before + at) + gates.i * gates.g);
    }
    for (std::ptrdiff_t at = begin; at < end; at += lanes) {
      fetch_to_write(s.h + at);
      store(s.h + at, load(s.gates + at + 3 * gate) * tanh(load(s.c + at)));
    }
  }
}

template <bool with_state>
SCHEDLAB_INLINE void gru_step(const CellForward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  for (std::ptrdiff_t p = s.panels.begin; p < s.panels.end; ++p) {
    const float* bias = s.bias + p * lanes;
    const Floats bias_n = load(bias);
    const Floats bias_r = load(bias + s.hidden);
    const Floats bias_z = load(bias + 2 * s.hidden);
    const Floats bias_a = load(bias + 3 * s.hidden);
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      const std::ptrdiff_t at = (p * s.rows + row) * lanes;
      const float* zx = (s.products != nullptr ? s.products : s.gates) + at;
      const float* zh = s.recurrent + at;
      const Floats r = sigmoid(load(zx + gate) + load(zh) + bias_r);
      const Floats z = sigmoid(load(zx + 2 * gate) + load(zh + gate) + bias_z);
      const Floats a = load(zh + 2 * gate) + bias_a;
      const Floats n = tanh(load(zx) + bias_n + r * a);
      float* gates = s.gates + at;
      store(gates, n);
      store(gates + gate, r);
      store(gates + 2 * gate, z);
      store(gates + 3 * gate, a);
      if (with_state) store(s.h + at, n + z * (load(s.before + at) - n));
    }
  }
}

SCHEDLAB_INLINE void gru_forward_body(const CellForward& s) {
  gru_step<true>(s);
}

SCHEDLAB_INLINE void gru_values_body(const CellForward& s) {
  gru_step<false>(s);
}

SCHEDLAB_INLINE void reset_gates_forward_body(const CellForward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  for (std::ptrdiff_t p = s.panels.begin; p < s.panels.end; ++p) {
    const Floats bias_r = load(s.bias + p * lanes + s.hidden);
    const Floats bias_z = load(s.bias + p * lanes + 2 * s.hidden);
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      const std::ptrdiff_t at = (p * s.rows + row) * lanes;
      float* zx = s.gates + at;
      const float* zh = s.recurrent + at;
      const Floats r = sigmoid(load(zx + gate) + load(zh) + bias_r);
      const Floats z = sigmoid(load(zx + 2 * gate) + load(zh + gate) + bias_z);
      store(zx + gate, r);
      store(zx + 2 * gate, z);
      store(s.reset + at, r * load(s.before + at));
    }
  }
}

SCHEDLAB_INLINE void reset_cell_forward_body(const CellForward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  for (std::ptrdiff_t p = s.panels.begin; p < s.panels.end; ++p) {
    const Floats bias_n = load(s.bias + p * lanes);
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      const std::ptrdiff_t at = (p * s.rows + row) * lanes;
      float* zx = s.gates + at;
      const Floats n = tanh(load(zx) + load(s.recurrent + at + 2 * gate) + bias_n);
      const Floats z = load(zx + 2 * gate);
      store(zx, n);
      store(s.h + at, n + z * (load(s.before + at) - n));
    }
  }
}

/// Gradient of h: from the step after and from outside the chain.
SCHEDLAB_INLINE Floats incoming(const CellBackward& s, std::ptrdiff_t at) {
  Floats sum = load(s.dh + at);
  for (std::ptrdiff_t i = 1; i < s.slices; ++i) sum += load(s.dh + i * s.rows * s.hidden + at);
  if (s.upstreams > 0) sum += load(s.upstream[0] + at);
  if (s.upstreams > 1) sum += load(s.upstream[1] + at);
  return sum;
}

SCHEDLAB_INLINE void lstm_backward_body(const CellBackward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  const std::ptrdiff_t end = s.panels.end * s.rows * lanes;
  for (std::ptrdiff_t at = s.panels.begin * s.rows * lanes; at < end; at += lanes) {
    for (std::ptrdiff_t g = 0; g < 4 * gate; g += gate) {
      fetch(s.gates + at + g);
      fetch_to_write(s.gate_gradients + at + g);
    }
    fetch(s.c + at);
    fetch(s.before + at);
    fetch(s.upstream[0] + at);
    const Floats i = load(s.gates + at);
    const Floats f = load(s.gates + at + gate);
    const Floats g = load(s.gates + at + 2 * gate);
    const Floats o = load(s.gates + at + 3 * gate);
    const Floats dh = incoming(s, at);
    const Floats t = tanh(load(s.c + at));
    const Floats dc = load(s.carry + at) + dh * o * (1.0F - t * t);
    float* d = s.gate_gradients + at;
    store(d, dc * g * (i * (1.0F - i)));
    store(d + gate, dc * load(s.before + at) * (f * (1.0F - f)));
    store(d + 2 * gate, dc * i * (1.0F - g * g));
    store(d + 3 * gate, dh * t * (o * (1.0F - o)));
    store(s.carry + at, dc * f);
  }
}

SCHEDLAB_INLINE void gru_backward_body(const CellBackward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  const std::ptrdiff_t end = s.panels.end * s.rows * lanes;
  for (std::ptrdiff_t at = s.panels.begin * s.rows * lanes; at < end; at += lanes) {
    const Floats n = load(s.gates + at);
    const Floats r = load(s.gates + at + gate);
    const Floats z = load(s.gates + at + 2 * gate);
    const Floats a = load(s.gates + at + 3 * gate);
    const Floats dh = incoming(s, at) + load(s.carry + at);
    const Floats dn = dh * (1.0F - z) * (1.0F - n * n);
    float* d = s.gate_gradients + at;
    store(d, dn);
    store(d + gate, dn * a * (r * (1.0F - r)));
    store(d + 2 * gate, dh * (load(s.before + at) - n) * (z * (1.0F - z)));
    store(d + 3 * gate, dn * r);
    store(s.carry + at, dh * z);
  }
}

SCHEDLAB_INLINE void reset_candidate_backward_body(const CellBackward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  const std::ptrdiff_t end = s.panels.end * s.rows * lanes;
  for (std::ptrdiff_t at = s.panels.begin * s.rows * lanes; at < end; at += lanes) {
    const Floats n = load(s.gates + at);
    const Floats z = load(s.gates + at + 2 * gate);
    const Floats dh = incoming(s, at) + load(s.carry + at);
    float* d = s.gate_gradients + at;
    store(d, dh * (1.0F - z) * (1.0F - n * n));
    store(d + 2 * gate, dh * (load(s.before + at) - n) * (z * (1.0F - z)));
    store(s.carry + at, dh * z);
  }
}

SCHEDLAB_INLINE void reset_cell_backward_body(const CellBackward& s) {
  const std::ptrdiff_t gate = gate_stride(s);
  const std::ptrdiff_t end = s.panels.end * s.rows * lanes;
  for (std::ptrdiff_t at = s.panels.begin * s.rows * lanes; at < end; at += lanes) {
    const Floats r = load(s.gates + at + gate);
    const Floats drh = load(s.reset_gradient + at);
    store(s.gate_gradients + at + gate, drh * load(s.before + at) * (r * (1.0F - r)));
    store(s.carry + at, load(s.carry + at) + drh * r);
  }
}

}  // namespace

SCHEDLAB_FOR_EACH_INSTRUCTION_SET(lstm_forward, CellForward, lstm_forward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(lstm_values, CellForward, lstm_values_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(gru_forward, CellForward, gru_forward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(gru_values, CellForward, gru_values_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(reset_gates_forward, CellForward, reset_gates_forward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(reset_cell_forward, CellForward, reset_cell_forward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(lstm_backward, CellBackward, lstm_backward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(gru_backward, CellBackward, gru_backward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(reset_candidate_backward,
                                  CellBackward,
                                  reset_candidate_backward_body)
SCHEDLAB_FOR_EACH_INSTRUCTION_SET(reset_cell_backward, CellBackward, reset_cell_backward_body)

}  // namespace schedlab::detail
