// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>
#include <vector>

namespace schedlab {

struct PlotOptions {
  std::vector<std::string> inputs{};  ///< of runs: one or several; of a sweep: one
  std::string out{};
  double width = 1200;
  // Of a timeline, in microseconds: the part that is drawn; negative: to the end.
  double from = 0;
  double to = -1;
  // Of a sweep's map: see HeatMapOptions. `panels` and `at` ("axis=value") are lists with commas.
  std::string policy{};
  std::string over{};
  std::string metric = "makespan_us";
  std::string x{};
  std::string y{};
  std::string panels{};
  std::string at{};
  bool json = false;
};

/// Draws traces again (other width, other format, several over one time axis), or a map of a sweep
/// over two axes.
[[nodiscard]] int run(const PlotOptions& options, const Terminal& terminal);

}  // namespace schedlab
