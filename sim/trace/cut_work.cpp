// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/cut_work.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace schedlab {

namespace {

/// More than what rounding adds to shares that fill a device.
constexpr double whole = 1 + 1e-9;

class CutWork {
 public:
  explicit CutWork(std::span<const SharedSpan> spans) : spans_(spans), owed_(spans.size(), 0) {
    for (const SharedSpan& span : spans) {
      moments_.push_back(span.start);
      moments_.push_back(span.end);
    }
    std::sort(moments_.begin(), moments_.end());
    moments_.erase(std::unique(moments_.begin(), moments_.end()), moments_.end());
  }

  [[nodiscard]] std::vector<HiddenUse> spread() {
    if (moments_.size() < 2) return {};
    uses_.resize(moments_.size() - 1);
    levels_.resize(uses_.size());
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      uses_[i] = {.from = moments_[i], .to = moments_[i + 1]};
    }
    if (!sweep_forward()) return {};
    sweep_backward();
    std::erase_if(uses_, [](const HiddenUse& use) { return use.share <= 0; });
    return std::move(uses_);
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> sorted(std::int64_t SharedSpan::*by) const {
    std::vector<std::uint32_t> order(spans_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return spans_[a].*by < spans_[b].*by;
    });
    return order;
  }
  [[nodiscard]] double length(std::size_t i) const {
    return static_cast<double>(uses_[i].to - uses_[i].from);
  }

  /// Notes what each task is owed where the sum is cut off, and gives it back as soon as there is
  /// room. False if nothing was cut off.
  bool sweep_forward() {
    const std::vector<std::uint32_t> by_start = sorted(&SharedSpan::start);
    std::size_t next = 0;
    bool cut = false;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      std::erase_if(running_, [&](std::uint32_t task) { return spans_[task].end <= moments_[i]; });
      for (; next < by_start.size() && spans_[by_start[next]].start == moments_[i]; ++next) {
        running_.push_back(by_start[next]);
      }
      double sum = 0;
      for (const std::uint32_t task : running_) sum += spans_[task].share;
      levels_[i] = std::min(sum, 1.0);
      if (sum > whole) {
        cut = true;
        for (const std::uint32_t task : running_) {
          owed_[task] += spans_[task].share * (1 - 1 / sum) * length(i);
        }
      } else if (cut) {
        // What ends first has the fewest moments left.
        give(i, [this](std::uint32_t a, std::uint32_t b) { return spans_[a].end < spans_[b].end; });
      }
    }
    return cut;
  }

  /// Gives what is still owed to earlier moments.
  void sweep_backward() {
    running_.clear();
    const std::vector<std::uint32_t> by_end = sorted(&SharedSpan::end);
    std::size_t left = by_end.size();
    for (std::size_t i = uses_.size(); i-- > 0;) {
      std::erase_if(running_,
                    [&](std::uint32_t task) { return spans_[task].start >= moments_[i + 1]; });
      for (; left > 0 && spans_[by_end[left - 1]].end == moments_[i + 1]; --left) {
        if (owed_[by_end[left - 1]] > 0) running_.push_back(by_end[left - 1]);
      }
      give(i,
           [this](std::uint32_t a, std::uint32_t b) { return spans_[a].start > spans_[b].start; });
    }
  }

  /// Fills the room of a moment with what its tasks are owed, in the order of `before`.
  template <class Before>
  void give(std::size_t i, const Before& before) {
    double room = (1 - levels_[i] - uses_[i].share) * length(i);
    while (room > 0) {
      const std::uint32_t* chosen = nullptr;
      for (const std::uint32_t& task : running_) {
        if (owed_[task] > 0 && (chosen == nullptr || before(task, *chosen))) chosen = &task;
      }
      if (chosen == nullptr) return;
      const double given = std::min(room, owed_[*chosen]);
      owed_[*chosen] = given < owed_[*chosen] ? owed_[*chosen] - given : 0;
      uses_[i].share += given / length(i);
      room = given < room ? room - given : 0;
    }
  }

  std::span<const SharedSpan> spans_;
  std::vector<double> owed_;  // by span: share times picoseconds
  std::vector<std::int64_t> moments_;
  std::vector<HiddenUse> uses_;  // one between each moment and the next
  std::vector<double> levels_;   // sums of shares there, cut off
  std::vector<std::uint32_t> running_;
};

}  // namespace

std::vector<HiddenUse> spread_cut_work(std::span<const SharedSpan> spans) {
  return CutWork{spans}.spread();
}

}  // namespace schedlab
