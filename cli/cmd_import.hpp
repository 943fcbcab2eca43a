// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/explanation/import_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `import`.
CLI::App* add_to(CLI::App& app, ImportOptions& options);

}  // namespace schedlab
