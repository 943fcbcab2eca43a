// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/base/leftovers.hpp"

#include <atomic>
#include <iosfwd>
#include <string_view>

namespace schedlab {

/// Where a verb writes and what stops it; given by main, or by a test.
struct Terminal {
  std::ostream& out;         ///< results
  std::ostream& err;         ///< progress, notes
  bool interactive = false;  ///< `err` is a screen: progress may rewrite its line
  const StopFlag* stop = nullptr;
  std::ostream* data =
      nullptr;  ///< results that are a file's content, byte by byte; nullptr: `out`
  Leftovers* leftovers = nullptr;  ///< what to remove when the process is ended early
  /// The signal that `stop` is from; 0: none came. nullptr: not known.
  const std::atomic<int>* stop_signal = nullptr;
};

/// Exit codes of the program.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;
/// A time limit, SIGTERM or SIGUSR1 came first (EX_TEMPFAIL): what is done is kept, --resume goes
/// on.
inline constexpr int exit_unfinished = 75;

inline constexpr std::string_view json_help = "Print a machine-readable summary on standard output";

}  // namespace schedlab
