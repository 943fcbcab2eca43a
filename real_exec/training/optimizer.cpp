// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/optimizer.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace schedlab {

ParameterOptimizer::ParameterOptimizer(const OptimizerSpec& spec, std::size_t parameters)
    : spec_(spec) {
  if (spec.kind == Optimizer::adam) {
    mean_.assign(parameters, 0.0F);
    variance_.assign(parameters, 0.0F);
  }
}

void ParameterOptimizer::update(std::span<float> parameters, std::span<const float> gradient) {
  SCHEDLAB_EXPECTS(parameters.size() == gradient.size(),
                   fmt::format("{} parameters, {} gradients", parameters.size(), gradient.size()));
  ++steps_;
  if (spec_.kind == Optimizer::sgd) {
    const auto rate = static_cast<float>(spec_.learning_rate);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * gradient[i];
    return;
  }
  SCHEDLAB_EXPECTS(parameters.size() == mean_.size(), "parameters of this optimizer");
  const auto beta1 = static_cast<float>(spec_.beta1);
  const auto beta2 = static_cast<float>(spec_.beta2);
  const auto epsilon = static_cast<float>(spec_.epsilon);
  const auto t = static_cast<double>(steps_);
  const auto rate = static_cast<float>(spec_.learning_rate / (1.0 - std::pow(spec_.beta1, t)));
  const auto correction = static_cast<float>(1.0 / (1.0 - std::pow(spec_.beta2, t)));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i];
    mean_[i] = beta1 * mean_[i] + (1.0F - beta1) * g;
    variance_[i] = beta2 * variance_[i] + (1.0F - beta2) * g * g;
    parameters[i] -= rate * mean_[i] / (std::sqrt(variance_[i] * correction) + epsilon);
  }
}

}  // namespace schedlab
