// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.hpp"

using namespace schedlab;

int main() {
#ifdef SCHEDLAB_MISTAKE
  [[maybe_unused]] const auto product = 4_KiB * 2_B;
#else
  [[maybe_unused]] const auto product = 4_KiB * 2;
#endif
}
