// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/gemm_panels.hpp"

#include <array>
#include <cstddef>

namespace schedlab::detail {

// The point-wise kernels of recurrent cells on arrays in panels (gemm_panels.hpp). Arrays of
// several gates hold one gate's panels after the other's:
//   LSTM                i, f, g, o                  everywhere
//   GRU                 n, r, z                     Wx, zx
//                       r, z, n                     Wh, zh
//                       n, r, z, a                  what is saved; a = zh + b of n
//                       n, r, z, nr                 dG and biases; nr: of n's recurrent product
//   GRU, reset before   n, r, z / r, z, n / n, r, z / n, r, z
// so that each product reads neighbours: dx = dG[0..2] * Wx^T, dh = dG[1..3] * Wh^T.
// Lanes beyond the hidden width hold zeros in weights and gradients, and so stay zero in h, c, dG.

/// One step forward; pointers to the panels of that step.
struct CellForward {
  float* gates = nullptr;            ///< zx on entry, activations on return
  const float* products = nullptr;   ///< LSTM, GRU: zx, where it does not lie in `gates`
  const float* recurrent = nullptr;  ///< zh
  const float* bias = nullptr;       ///< [gates][hidden]
  const float* before = nullptr;     ///< of an LSTM c, else h, of the step before
  float* c = nullptr;                ///< LSTM
  float* h = nullptr;
  float* reset = nullptr;  ///< GRU, reset before: r * h
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t hidden = 0;  ///< padded
  PanelRange panels;
};
void lstm_forward(const CellForward& args);
/// The activations alone, bit for bit the same; with `h` also o * tanh(c), of the c that is there.
void lstm_values(const CellForward& args);
void gru_forward(const CellForward& args);
void gru_values(const CellForward& args);           ///< the activations alone, bit for bit the same
void reset_gates_forward(const CellForward& args);  ///< gates_forward: r, z, r * h
void reset_cell_forward(const CellForward& args);   ///< cell_forward: n, h

/// One step backward.
struct CellBackward {
  const float* gates = nullptr;   ///< activations
  const float* c = nullptr;       ///< LSTM
  const float* before = nullptr;  ///< of an LSTM c, else h, of the step before
  std::array<const float*, 2> upstream{};
  int upstreams = 0;
  const float* dh = nullptr;              ///< dG * Wh^T of the step after, in slices to be summed
  std::ptrdiff_t slices = 1;              ///< [rows, hidden] each, one after another
  float* carry = nullptr;                 ///< dc, or the direct path of dh; replaced
  const float* reset_gradient = nullptr;  ///< GRU, reset before: d(r * h)
  float* gate_gradients = nullptr;        ///< dG
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t hidden = 0;
  PanelRange panels;
};
void lstm_backward(const CellBackward& args);
void gru_backward(const CellBackward& args);
void reset_candidate_backward(const CellBackward& args);  ///< candidate_cell: dn, dz
void reset_cell_backward(const CellBackward& args);       ///< cell: dr

}  // namespace schedlab::detail
