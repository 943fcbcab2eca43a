// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.hpp"

using namespace schedlab;

int main() {
#ifdef SCHEDLAB_MISTAKE
  [[maybe_unused]] const auto now = SimClock::now();
#else
  [[maybe_unused]] const auto now = Time{};
#endif
}
