// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/simgrid_engines.hpp"

#include <stdexcept>

namespace schedlab::bench {

bool simgrid_is_there() {
  return false;
}

SimGridRun simgrid_in_order(const BareGraph&, SimGridMode) {
  throw std::runtime_error("built without SimGrid");
}

}  // namespace schedlab::bench
