// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/cudnn_layout.hpp"

#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/vendor/cudnn_rnn.hpp"
#include "sim/base/error.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;
using detail::CudnnChainWeights;
using Floats = std::vector<float>;

TEST_CASE("cuDNN's matrices are one gate's columns of ours, transposed") {
  RecurrentSpec spec;
  spec.hidden = 2;
  RecurrentChainInputs<float> chain;
  // One row of x: i0 i1 f0 f1 g0 g1 o0 o1; three rows.
  chain.wx = {0,  1,  2,  3,  4,  5,  6,  7,   //
              10, 11, 12, 13, 14, 15, 16, 17,  //
              20, 21, 22, 23, 24, 25, 26, 27};
  chain.wh = {30,
              31,
              32,
              33,
              34,
              35,
              36,
              37,  //
              40,
              41,
              42,
              43,
              44,
              45,
              46,
              47};
  chain.bias = {1, 2, 3, 4, 5, 6, 7, 8};
  const CudnnChainWeights weights = detail::to_cudnn(spec, chain);
  REQUIRE(weights.matrices.size() == 8);
  CHECK(weights.matrices[0] == Floats{0, 10, 20, 1, 11, 21});
  CHECK(weights.matrices[3] == Floats{6, 16, 26, 7, 17, 27});
  CHECK(weights.matrices[4] == Floats{30, 40, 31, 41});
  CHECK(weights.biases[1] == Floats{3, 4});
  for (std::size_t i = 4; i < 8; ++i) CHECK(weights.biases[i].empty());
}

TEST_CASE("of a GRU the recurrent bias of n is a parameter, those of r and z are zero") {
  RecurrentSpec spec;
  spec.hidden = 2;
  spec.cell = RecurrentCell::gru;
  RecurrentChainInputs<float> chain;
  chain.wx.assign(1 * 6, 1.0F);
  chain.wh.assign(2 * 6, 1.0F);
  chain.bias = {1, 2, 3, 4, 5, 6, 7, 8};  // r, z, n of the input's product, n of the recurrent one
  const CudnnChainWeights weights = detail::to_cudnn(spec, chain);
  REQUIRE(weights.biases.size() == 6);
  CHECK(weights.biases[2] == Floats{5, 6});
  CHECK(weights.biases[3] == Floats{0, 0});
  CHECK(weights.biases[4] == Floats{0, 0});
  CHECK(weights.biases[5] == Floats{7, 8});
}

TEST_CASE("gradients come back from cuDNN's layout to where the parameters were") {
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    RecurrentSpec spec;
    spec.layers = 2;
    spec.steps = 1;
    spec.batch = 2;
    spec.hidden = 5;
    spec.input = 3;
    spec.cell = cell;
    spec.bidirectional = Bidirectional::all;
    const RecurrentInputs<float> inputs = draw_recurrent_inputs(spec, 7);
    CHECK(inputs.chains.size() == 4);
    for (const RecurrentChainInputs<float>& chain : inputs.chains) {
      RecurrentChainResults<float> back;
      detail::from_cudnn(spec, detail::to_cudnn(spec, chain), back);
      CHECK(back.dwx == chain.wx);
      CHECK(back.dwh == chain.wh);
      CHECK(back.dbias == chain.bias);
    }
  }
}

TEST_CASE(
    "cuDNN is loaded by name, with every function that is used, or its absence has a reason") {
  try {
    const std::string version = detail::cudnn_version();
    CHECK(version.starts_with("9."));
  } catch (const DeviceError& error) {
    CHECK(std::string{error.what()}.find("cuDNN") != std::string::npos);
    testing::skip(error.what());
  }
}
