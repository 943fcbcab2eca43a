// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "workloads/transforms/tensor_parallel.hpp"

#include <optional>
#include <string_view>

namespace schedlab {

/// How the ranks of a model join their parts, for a workload that is one rank's part. nullopt: the
/// workload is whole. `options` must be complete.
[[nodiscard]] std::optional<TensorParallel::Options> tensor_parallel_options(
    std::string_view kind, const Options& options);

}  // namespace schedlab
