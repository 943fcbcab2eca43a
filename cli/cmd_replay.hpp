// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/explanation/replay_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `replay`.
CLI::App* add_to(CLI::App& app, ReplayOptions& options);

}  // namespace schedlab
