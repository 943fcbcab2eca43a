// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct SimulateOptions {
  std::string spec{};
  std::string out{};
  bool overwrite = false;
  bool allow_findings = false;
  bool no_trace = false;
  std::string require{};  ///< evidence that kernel times must have; empty: any
  bool json = false;
};

/// One scenario -> a folder of files. Returns exit_failed if the plan checker found something and
/// findings are not allowed, or kernel times have less evidence than is required; the files are
/// written in any case.
[[nodiscard]] int run(const SimulateOptions& options, const Terminal& terminal);

}  // namespace schedlab
