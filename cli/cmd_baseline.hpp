// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/execution/baseline_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `baseline`.
CLI::App* add_to(CLI::App& app, BaselineOptions& options);

}  // namespace schedlab
