// SPDX-License-Identifier: Apache-2.0
// Uses SchedLab as an outsider does: only public headers, only linked libraries.
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

#include <iostream>

int main() {
  using namespace schedlab;
  const Duration transfer = 1_MiB / 900_GB_per_s;  // 2^20 / 9e11 s = 1 165 084.4 ps, rounded up
  const std::string closest = closest_spelling("hefd", {"heft", "diagonal"});
  std::cout << transfer.count() << " ps, " << closest << '\n';
  return transfer.count() == 1'165'085 && closest == "heft" ? 0 : 1;
}
