// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/sweep/sweep_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `sweep`.
CLI::App* add_to(CLI::App& app, SweepOptions& options);

/// Adds the verb `merge`.
CLI::App* add_to(CLI::App& app, MergeOptions& options);

}  // namespace schedlab
