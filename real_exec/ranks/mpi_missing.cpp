// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"

namespace schedlab {

bool has_mpi() {
  return false;
}

std::unique_ptr<RankLink> open_mpi() {
  throw InfeasibleError(
      "this schedlab was built without an MPI library\n  install one (Debian: libopenmpi-dev, "
      "openmpi-bin) and configure again");
}

void give_up_mpi(int /*exit_code*/) {}

}  // namespace schedlab
