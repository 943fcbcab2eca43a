// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"

#include <memory>
#include <optional>
#include <string>

namespace schedlab {

/// Was the program built with an MPI library?
[[nodiscard]] bool has_mpi();

/// Number of ranks, if an MPI launcher (mpirun, srun with PMIx) started this process as one of
/// them; nullopt: it was started by itself. Needs no MPI library.
[[nodiscard]] std::optional<int> launched_ranks();

/// MPI between the ranks of this process's run, from MPI_Init to MPI_Finalize: once per process.
/// Where a call fails the whole run ends, as MPI leaves no other way.
/// Throws InfeasibleError without an MPI library.
[[nodiscard]] std::unique_ptr<RankLink> open_mpi();

/// Ends all ranks of the run at once: after an error that the others cannot know of. Does nothing
/// if MPI is not open.
void give_up_mpi(int exit_code);

}  // namespace schedlab
