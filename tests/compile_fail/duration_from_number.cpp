// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.hpp"

using namespace schedlab;

int main() {
#ifdef SCHEDLAB_MISTAKE
  [[maybe_unused]] const Duration length = 3;
#else
  [[maybe_unused]] const Duration length{3};
#endif
}
