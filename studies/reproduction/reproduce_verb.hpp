// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

/// In the place of a system: all that ship.
inline constexpr const char* all_systems = "all";

struct ReproduceOptions {
  std::string system = "all";
  std::string out{};  ///< empty: reproduction_SYSTEM, of all systems reproduction
  unsigned jobs = 0;
  bool quick = false;
  bool resume = false;
  bool overwrite = false;
  bool no_check = false;
  bool json = false;
};

/// A publication's numbers against simulations -> a folder with a table and a report; of all
/// systems a folder for each and one report over them. A number that
/// is missed is a result: the exit code is exit_done. exit_failed: interrupted; the files are
/// written in any case. Scenarios that cannot run (for lack of memory, say) are left out and
/// counted.
[[nodiscard]] int run(const ReproduceOptions& options, const Terminal& terminal);

}  // namespace schedlab
