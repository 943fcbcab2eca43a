// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "studies/emit/emitted_plan.hpp"

#include <optional>
#include <string>

namespace schedlab {

/// A program in one file of an emitted language, and what the reader should know of it.
struct EmittedSource {
  std::string text;
  std::string what;  ///< what its tasks compute
};

/// CUDA C++20 that makes the host calls of the plan: streams with their priorities, events, device
/// graphs; tasks are real recurrent kernels, else proxy kernels of their shape and time. Its main
/// runs the plan beside all tasks on one stream, compares what they leave, and prints medians.
/// `precision`: of recurrent products; nullopt: the workload's type.
/// Throws InfeasibleError for what cannot be emitted, naming it.
[[nodiscard]] EmittedSource cuda_source(const EmittedPlan& emitted,
                                        std::optional<ProductPrecision> precision);

}  // namespace schedlab
