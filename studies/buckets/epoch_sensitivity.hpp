// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace schedlab {

/// How the times of passes depend on each number of the machine; `rows` of the study with stored
/// models, of one data set. Boundaries and batches stay as they are. nullopt: their steps have
/// more than 10 max_sensitivity_tasks tasks. Throws what StepSimulation throws, Interrupted.
[[nodiscard]] std::optional<Sensitivity> epoch_sensitivity(const BucketStudy& study,
                                                           const std::vector<std::size_t>& rows,
                                                           const StopFlag* stop);

/// The same of the fastest epoch that fits of the first data set, and of the fastest with another
/// setup or rule (else with another number of buckets) that trains as many sequences; nullopt also
/// where there is none such.
[[nodiscard]] std::optional<Sensitivity> epoch_sensitivity(const BucketStudy& study,
                                                           const StopFlag* stop);

}  // namespace schedlab
