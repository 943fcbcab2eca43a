// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct BucketsOptions {
  std::string spec{};
  std::string out{};
  std::string machine{};  ///< file that replaces the machine of the spec's scenario
  bool memory_time = true;
  bool no_sensitivity = false;  ///< the report says nothing of the machine's numbers
  std::string execute{};        ///< device that runs the passes for real; empty: none
  std::uint32_t workers = 0;
  std::string host = "preloaded";
  std::string allocate = "by_tensor";
  bool pin = true;
  std::uint32_t repetitions = 3;
  bool resume = false;
  bool overwrite = false;
  bool json = false;
};

/// Passes over sequences of different lengths: a table, and a folder of files. Returns exit_failed
/// if it was stopped; what is done is kept.
[[nodiscard]] int run(const BucketsOptions& options, const Terminal& terminal);

}  // namespace schedlab
