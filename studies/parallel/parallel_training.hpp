// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/parallel/parallel_plan.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace schedlab {

/// What `execute --device mpi` trains of a plan.
struct PlannedTraining {
  std::string json{};   ///< a training spec; empty: none of the rows can be trained
  std::size_t row = 0;  ///< of the plan
  std::string why{};    ///< the first row cannot be trained; empty: it can
};

/// Has the spec data to train on, and a model that ranks train? False: there is no training.
[[nodiscard]] bool has_training(const ParallelSpec& spec);

/// Throws InputError naming what of /training does not fit, before a plan is searched. Reads the
/// data.
void expect_training(const ParallelSpec& spec);

/// The fastest row as a training spec for a file in `folder`: `mnist_cnn`, and `gpt` in fp32 with
/// dense attention, words and classifier untied, without experts; rows without ranks that share a
/// stage, ZeRO or stages placed otherwise than in a loop. The classifier of a trained `gpt` has a
/// bias, and its words and positions are one layer.
[[nodiscard]] PlannedTraining training_of(const ParallelPlan& plan,
                                          const std::filesystem::path& folder);

}  // namespace schedlab
