// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <optional>
#include <string>

namespace schedlab {

struct CompareOptions {
  std::string first{};
  std::string second{};
  std::string out{};                     ///< folder; empty: prints only
  std::optional<double> max_slowdown{};  ///< in percent; nullopt: none
  bool overwrite = false;
  bool json = false;
};

/// What is different between two runs, profiles, sweeps or validations. exit_failed if the second
/// takes longer than max_slowdown allows.
[[nodiscard]] int run(const CompareOptions& options, const Terminal& terminal);

}  // namespace schedlab
