// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/bench_options.hpp"
#include "tests/bench/results_table.hpp"

namespace schedlab::bench {

/// Sweeps of scenarios of 200 tasks on one thread: plan, simulate, sum up, commit to SQLite.
void add_small_sweeps(const Options& options, ResultsTable& table);

}  // namespace schedlab::bench
