// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/explanation/export_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `export`.
CLI::App* add_to(CLI::App& app, ExportOptions& options);

}  // namespace schedlab
