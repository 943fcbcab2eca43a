// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// sgd: w -= learning_rate * g. adam: Kingma, Ba, ICLR 2015, algorithm 1, with its defaults.
struct OptimizerSpec {
  Optimizer kind = Optimizer::sgd;
  double learning_rate = 0.1;
  double beta1 = 0.9;     ///< adam; Kingma, Ba, section 2
  double beta2 = 0.999;   ///< adam
  double epsilon = 1e-8;  ///< adam

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

/// The state of an optimizer over some parameters. Every parameter is updated by itself, so that
/// any partition of a model gives the same values.
class ParameterOptimizer {
 public:
  ParameterOptimizer(const OptimizerSpec& spec, std::size_t parameters);

  /// One step.
  void update(std::span<float> parameters, std::span<const float> gradient);

 private:
  OptimizerSpec spec_;
  std::int64_t steps_ = 0;
  std::vector<float> mean_;      // adam
  std::vector<float> variance_;  // adam
};

}  // namespace schedlab
