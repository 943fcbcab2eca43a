// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/explanation/explain_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `explain`.
CLI::App* add_to(CLI::App& app, ExplainOptions& options);

}  // namespace schedlab
