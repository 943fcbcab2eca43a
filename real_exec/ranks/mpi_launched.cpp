// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/mpi_link.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace schedlab {

std::optional<int> launched_ranks() {
  // What Open MPI's mpirun and Hydra's (MPICH, Intel MPI) set for the processes that they start.
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): it is never set
    if (text == nullptr) continue;
    int ranks = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), ranks);
    if (error == std::errc{} && *end == '\0' && ranks >= 1) return ranks;
  }
  return std::nullopt;
}

}  // namespace schedlab
