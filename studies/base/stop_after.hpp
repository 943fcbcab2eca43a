// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace schedlab {

/// Asks work to stop when its caller does, or when its time is up.
class StopAfter {
 public:
  /// `asked` may be nullptr; without `seconds` there is no limit.
  StopAfter(const StopFlag* asked, std::optional<double> seconds) : asked_(asked) {
    if (!seconds) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(*seconds);
    watch_ = std::jthread([this, end](const std::stop_token& done) {
      constexpr auto nap = std::chrono::milliseconds{20};
      while (!done.stop_requested()) {
        const bool late = std::chrono::steady_clock::now() >= end;
        if (late) ran_out_ = true;
        if (late || stop_requested(asked_)) {
          stop_ = true;
          return;
        }
        std::this_thread::sleep_for(nap);
      }
    });
  }

  [[nodiscard]] const StopFlag* flag() const { return watch_.joinable() ? &stop_ : asked_; }
  [[nodiscard]] bool ran_out() const { return ran_out_; }

 private:
  const StopFlag* asked_;
  StopFlag stop_{false};
  std::atomic<bool> ran_out_{false};
  std::jthread watch_;  // last: it uses the others
};

}  // namespace schedlab
