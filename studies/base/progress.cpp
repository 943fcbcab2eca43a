// SPDX-License-Identifier: Apache-2.0
#include "studies/base/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

namespace schedlab {
namespace {

std::string duration_words(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

Progress::Progress(const Terminal& terminal,
                   std::uint64_t total,
                   std::uint64_t already_done,
                   std::string_view things)
    : terminal_(terminal), total_(total), first_(already_done), things_(things) {}

void Progress::update(std::uint64_t done) {
  const auto now = Clock::now();
  const auto pause =
      terminal_.interactive ? std::chrono::milliseconds{200} : std::chrono::seconds{5};
  if (now - last_ < pause) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const double rate = static_cast<double>(done - first_) / seconds;
  const bool known = total_ != 0;
  const double left =
      known && rate > 0 && total_ > done ? static_cast<double>(total_ - done) / rate : 0;
  const std::string line =
      fmt::format("{}{} {}, {:.{}f}/s{}",
                  done,
                  known ? fmt::format(" of {}", total_) : std::string{},
                  things_,
                  rate,
                  rate < 10 ? 1 : 0,
                  known ? fmt::format(", {} left", duration_words(left)) : std::string{});
  if (terminal_.interactive) {
    terminal_.err << '\r' << line << "\x1b[K" << std::flush;  // ESC [K: clear the rest of the line
  } else {
    terminal_.err << line << std::endl;
  }
  shown_ = true;
}

void Progress::finish() {
  if (terminal_.interactive && shown_) terminal_.err << "\r\x1b[K" << std::flush;
  shown_ = false;
}

}  // namespace schedlab
