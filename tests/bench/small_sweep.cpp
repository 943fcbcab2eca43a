// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/small_sweep.hpp"

namespace schedlab::bench {

void add_small_sweeps(const Options&, ResultsTable&) {}

}  // namespace schedlab::bench
