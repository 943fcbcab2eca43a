// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/sweep/plot_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `plot`.
CLI::App* add_to(CLI::App& app, PlotOptions& options);

}  // namespace schedlab
