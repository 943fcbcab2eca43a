// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>

namespace schedlab {

/// "1234 of 5000 scenarios, 3210/s, 2 s left" on standard error: on a screen one line that is
/// rewritten five times a second, otherwise a new line every five seconds.
class Progress {
 public:
  /// `things`: what is counted. `total`: 0 while it is not known, so that no time is promised.
  Progress(const Terminal& terminal,
           std::uint64_t total,
           std::uint64_t already_done,
           std::string_view things = "scenarios");

  /// `done`: scenarios that are finished, those of earlier runs included.
  void update(std::uint64_t done);
  /// Where it is known late.
  void set_total(std::uint64_t total) { total_ = total; }
  /// Clears the line on a screen.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  const Terminal& terminal_;
  std::uint64_t total_;
  std::uint64_t first_;
  std::string_view things_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_ = started_;
  bool shown_ = false;
};

}  // namespace schedlab
