// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/calibrate/bench.hpp"
#include "cli/terminal.hpp"

#include <cstdint>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct CalibrateOptions {
  std::string device = "cpu";
  std::string out{};
  std::string name = "cpu";
  std::uint32_t workers = 0;
  bool quick = false;
  bool json = false;
};

/// Adds the verb `calibrate`.
CLI::App* add_to(CLI::App& app, CalibrateOptions& options);
/// Measures this computer and writes a machine file, all of it or nothing.
[[nodiscard]] int run(const CalibrateOptions& options, const Terminal& terminal);
/// The same on another bench.
[[nodiscard]] int run(const CalibrateOptions& options,
                      CalibrationBench& bench,
                      const Terminal& terminal);

}  // namespace schedlab
