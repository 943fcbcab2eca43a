// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::bench {

/// Flags of our own; all others go to Google Benchmark.
struct Options {
  std::vector<std::uint32_t> sizes;        ///< 10^4, 10^5 ... up to --largest=N
  std::uint32_t largest_file = 1'000'000;  ///< graph files are read up to this size
  int repetitions = 9;                     ///< --repetitions=N; 0: only check the answers
  double seconds = 0.05;                   ///< --seconds=S a repetition, at least
  std::uint64_t scenarios = 20'000;        ///< --scenarios=N of the small sweep
  std::string sweeps;                      ///< --sweeps=TEXT: only those with it in their name
  std::string json;                        ///< --json=FILE: the table as data
};

/// Also initialises Google Benchmark. Throws std::runtime_error for an unknown flag.
[[nodiscard]] Options read_options(int argc, char** argv);

}  // namespace schedlab::bench
