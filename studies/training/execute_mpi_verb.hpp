// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/execution/execute_verb.hpp"

namespace schedlab {

/// `execute --device mpi`: trains the net of a training spec with a pipeline of ranks. Started by
/// itself it starts mpirun; started by mpirun it is one of the ranks.
[[nodiscard]] int run_on_mpi(const ExecuteOptions& options, const Terminal& terminal);

/// `execute --device threads`: the same with ranks that are threads of this process, linked through
/// its memory.
[[nodiscard]] int run_on_thread_ranks(const ExecuteOptions& options, const Terminal& terminal);

}  // namespace schedlab
