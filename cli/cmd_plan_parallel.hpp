// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/parallel/plan_parallel_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `plan-parallel`.
CLI::App* add_to(CLI::App& app, PlanParallelOptions& options);

}  // namespace schedlab
