// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <nlohmann/json.hpp>

#include <sstream>

namespace schedlab::testing {

/// Runs a verb and keeps what it printed.
struct VerbSession {
  /// The verb's exit code.
  template <class Options>
  int call(const Options& options) {
    out.str({});
    err.str({});
    return run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr});
  }
  /// What it printed with --json.
  [[nodiscard]] nlohmann::json printed() const { return nlohmann::json::parse(out.str()); }

  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace schedlab::testing
