// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.hpp"

using namespace schedlab;

int main() {
#ifdef SCHEDLAB_MISTAKE
  [[maybe_unused]] const auto sum = 4_KiB + 4_FLOP;
#else
  [[maybe_unused]] const auto sum = 4_KiB + 4_B;
#endif
}
