// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/cudnn_layout.hpp"

#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>

namespace schedlab::detail {
namespace {

/// Columns [gate * hidden, (gate + 1) * hidden) of a [width, gates * hidden] matrix, transposed.
std::vector<float> gate_rows(const std::vector<float>& ours,
                             std::size_t gates,
                             std::size_t gate,
                             std::size_t hidden) {
  const std::size_t width = ours.size() / (gates * hidden);
  std::vector<float> rows(hidden * width);
  for (std::size_t k = 0; k < width; ++k) {
    const float* from = ours.data() + (k * gates + gate) * hidden;
    for (std::size_t j = 0; j < hidden; ++j) rows[j * width + k] = from[j];
  }
  return rows;
}

void put_gate_rows(const std::vector<float>& rows,
                   std::size_t gates,
                   std::size_t gate,
                   std::size_t hidden,
                   std::vector<float>& ours) {
  const std::size_t width = rows.size() / hidden;
  ours.resize(width * gates * hidden);
  for (std::size_t k = 0; k < width; ++k) {
    float* to = ours.data() + (k * gates + gate) * hidden;
    for (std::size_t j = 0; j < hidden; ++j) to[j] = rows[j * width + k];
  }
}

struct Shape {
  std::size_t gates;
  std::size_t hidden;
  bool two_biases;
};

Shape shape_of(const RecurrentSpec& spec) {
  return {static_cast<std::size_t>(cell_shape(spec.cell).gates),
          static_cast<std::size_t>(spec.hidden),
          spec.cell != RecurrentCell::lstm};
}

}  // namespace

CudnnChainWeights to_cudnn(const RecurrentSpec& spec, const RecurrentChainInputs<float>& chain) {
  const Shape shape = shape_of(spec);
  CudnnChainWeights weights;
  for (const std::vector<float>* ours : {&chain.wx, &chain.wh}) {
    for (std::size_t gate = 0; gate < shape.gates; ++gate) {
      weights.matrices.push_back(gate_rows(*ours, shape.gates, gate, shape.hidden));
    }
  }
  const auto bias = [&](std::size_t index) {
    const auto begin = chain.bias.begin() + static_cast<std::ptrdiff_t>(index * shape.hidden);
    return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(shape.hidden));
  };
  for (std::size_t gate = 0; gate < shape.gates; ++gate) weights.biases.push_back(bias(gate));
  for (std::size_t gate = 0; gate < shape.gates; ++gate) {
    if (!shape.two_biases) {
      weights.biases.emplace_back();
    } else if (gate + 1 < shape.gates) {
      weights.biases.emplace_back(shape.hidden, 0.0F);
    } else {
      weights.biases.push_back(bias(shape.gates));
    }
  }
  return weights;
}

void from_cudnn(const RecurrentSpec& spec,
                const CudnnChainWeights& gradients,
                RecurrentChainResults<float>& chain) {
  const Shape shape = shape_of(spec);
  for (std::size_t gate = 0; gate < shape.gates; ++gate) {
    put_gate_rows(gradients.matrices[gate], shape.gates, gate, shape.hidden, chain.dwx);
    put_gate_rows(
        gradients.matrices[shape.gates + gate], shape.gates, gate, shape.hidden, chain.dwh);
  }
  chain.dbias.clear();
  for (std::size_t gate = 0; gate < shape.gates; ++gate) {
    const std::vector<float>& bias = gradients.biases[gate];
    chain.dbias.insert(chain.dbias.end(), bias.begin(), bias.end());
  }
  if (!shape.two_biases) return;
  const std::vector<float>& bias = gradients.biases[2 * shape.gates - 1];
  chain.dbias.insert(chain.dbias.end(), bias.begin(), bias.end());
}

}  // namespace schedlab::detail
