// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/comparison/compare_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `compare`.
CLI::App* add_to(CLI::App& app, CompareOptions& options);

}  // namespace schedlab
