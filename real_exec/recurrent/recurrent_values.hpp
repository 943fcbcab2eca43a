// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace schedlab {

// What a recurrent network is given and what it returns, as plain arrays: rows one after another,
// time first, nothing padded. Gates in the order i, f, g, o (LSTM) and r, z, n (GRU); biases in the
// same order, of a GRU with the reset gate after the product r, z, n of the input's product, n of
// the recurrent one. G = gates of the cell * hidden; output: width of h, the projection or hidden.

/// What one chain (a direction of a layer) is given.
template <class Real>
struct RecurrentChainInputs {
  std::vector<Real> wx;       ///< [width, G]
  std::vector<Real> wh;       ///< [output, G]
  std::vector<Real> bias;     ///< [biases]
  std::vector<Real> h0;       ///< [batch, output], before the first step in the chain's direction
  std::vector<Real> c0;       ///< [batch, hidden]; LSTM
  std::vector<Real> dh_last;  ///< gradient of h after the last step, [batch, output]
  std::vector<Real> dc_last;  ///< gradient of c there; LSTM
  std::vector<Real> wp{};     ///< [hidden, output]; LSTM with projection
};

template <class Real>
struct RecurrentInputs {
  std::vector<Real> x;       ///< [steps, batch, input]
  std::vector<Real> dy;      ///< pass backward: gradient of y, of its shape
  std::vector<Real> target;  ///< pass training: of the shape of y
  std::vector<RecurrentChainInputs<Real>> chains;
};

template <class Real>
struct RecurrentChainResults {
  std::vector<Real> dwx;
  std::vector<Real> dwh;
  std::vector<Real> dbias;
  std::vector<Real> dh0;
  std::vector<Real> dc0;  ///< LSTM
  std::vector<Real> wx;   ///< after the update, of pass training; else as given
  std::vector<Real> wh;
  std::vector<Real> bias;
  std::vector<Real> dwp{};  ///< LSTM with projection
  std::vector<Real> wp{};

  friend bool operator==(const RecurrentChainResults&, const RecurrentChainResults&) = default;
};

/// What no task of the pass computes is zero.
template <class Real>
struct RecurrentResults {
  std::vector<Real> y;   ///< [steps, batch, directions * output] of the top layer
  std::vector<Real> dx;  ///< [steps, batch, input], summed over the directions of layer 0
  Real loss = 0;         ///< pass training: 1 / (2 batch) * sum of (y - target)^2
  std::vector<RecurrentChainResults<Real>> chains;

  friend bool operator==(const RecurrentResults&, const RecurrentResults&) = default;
};

/// Optimizers' rates in pass training: large enough to be seen, small enough to change no shape.
inline constexpr double sgd_rate = 0.01;
inline constexpr double adam_rate = 0.001;

}  // namespace schedlab
