// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/execution/execute_verb.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds the verb `execute`.
CLI::App* add_to(CLI::App& app, ExecuteOptions& options);
/// On the device of the options: run_on_device(), run_on_mpi() or run_on_thread_ranks().
[[nodiscard]] int run(const ExecuteOptions& options, const Terminal& terminal);

}  // namespace schedlab
