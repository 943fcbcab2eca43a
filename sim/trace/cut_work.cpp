// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/cut_work.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace schedlab {

namespace {

/// Moments whose use is kept at once, so that a long trace takes no more memory than a short one.
constexpr std::size_t chunk_moments = 1U << 14U;

constexpr double rounding = 1e-9;

/// What a task got between two moments: its share times picoseconds.
struct Portion {
  std::uint32_t task = 0;
  double work = 0;
};

class CutWork {
 public:
  explicit CutWork(std::span<const SharedSpan> spans)
      : spans_(spans), owed_(spans.size(), 0), by_start_(spans.size()) {
    for (const SharedSpan& span : spans) {
      moments_.push_back(span.start);
      moments_.push_back(span.end);
    }
    std::sort(moments_.begin(), moments_.end());
    moments_.erase(std::unique(moments_.begin(), moments_.end()), moments_.end());
    std::iota(by_start_.begin(), by_start_.end(), 0U);
    std::stable_sort(by_start_.begin(), by_start_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return spans_[a].start < spans_[b].start;
    });
  }

  [[nodiscard]] std::vector<HiddenUse> spread() {
    for (std::size_t begin = 0; begin + 1 < moments_.size(); begin += chunk_moments) {
      const std::size_t end = std::min(begin + chunk_moments, moments_.size() - 1);
      portions_.resize(end - begin);
      chunk_end_ = moments_[end];
      for (std::size_t i = begin; i < end; ++i) put_off(i, portions_[i - begin]);
      for (std::size_t i = end; i-- > begin;) bring_forward(i, portions_[i - begin]);
      for (std::size_t i = begin; i < end; ++i) compare(i, portions_[i - begin]);
    }
    return std::move(uses_);
  }

 private:
  [[nodiscard]] double length(std::size_t i) const {
    return static_cast<double>(moments_[i + 1] - moments_[i]);
  }

  /// Each task wants its share and what it is owed; what ends first is served first, and the others
  /// are owed the rest.
  void put_off(std::size_t i, std::vector<Portion>& portions) {
    std::erase_if(running_, [&](std::uint32_t task) { return spans_[task].end <= moments_[i]; });
    const std::size_t before = running_.size();
    for (; next_ < by_start_.size() && spans_[by_start_[next_]].start == moments_[i]; ++next_) {
      running_.push_back(by_start_[next_]);
    }
    const auto ends_first = [this](std::uint32_t a, std::uint32_t b) {
      return spans_[a].end < spans_[b].end;
    };
    const auto middle = running_.begin() + static_cast<std::ptrdiff_t>(before);
    std::stable_sort(middle, running_.end(), ends_first);
    std::inplace_merge(running_.begin(), middle, running_.end(), ends_first);
    portions.clear();
    double left = length(i);
    for (const std::uint32_t task : running_) {
      const double wanted = owed_[task] + spans_[task].share * length(i);
      portions.push_back({.task = task, .work = serve(task, wanted, left)});
    }
  }

  /// The same backwards, for what tasks that have ended are still owed: what started last is served
  /// first.
  void bring_forward(std::size_t i, std::vector<Portion>& portions) {
    const bool late = std::any_of(portions.begin(), portions.end(), [this](const Portion& portion) {
      return ended(portion.task) && owed_[portion.task] > 0;
    });
    if (!late) return;
    std::stable_sort(portions.begin(), portions.end(), [this](const Portion& a, const Portion& b) {
      return spans_[a.task].start > spans_[b.task].start;
    });
    // What still runs after this chunk is owed its rest later.
    double left = length(i);
    for (Portion& portion : portions) {
      if (!ended(portion.task)) left -= portion.work;
    }
    for (Portion& portion : portions) {
      if (!ended(portion.task)) continue;
      portion.work = serve(portion.task, portion.work + owed_[portion.task], left);
    }
  }

  [[nodiscard]] bool ended(std::uint32_t task) const { return spans_[task].end <= chunk_end_; }

  [[nodiscard]] double serve(std::uint32_t task, double wanted, double& left) {
    const double got = std::clamp(left, 0.0, wanted);
    left -= got;
    owed_[task] = wanted - got;
    return got;
  }

  void compare(std::size_t i, const std::vector<Portion>& portions) {
    double got = 0;
    double nominal = 0;
    for (const Portion& portion : portions) {
      got += portion.work;
      nominal += spans_[portion.task].share;
    }
    const double hidden = got / length(i) - std::min(nominal, 1.0);
    if (hidden > rounding) {
      uses_.push_back({.from = moments_[i], .to = moments_[i + 1], .share = hidden});
    }
  }

  std::span<const SharedSpan> spans_;
  std::vector<double> owed_;             // by span
  std::vector<std::uint32_t> by_start_;  // spans
  std::vector<std::int64_t> moments_;
  std::vector<std::vector<Portion>> portions_;  // by moment of the chunk
  std::vector<std::uint32_t> running_;          // by rising end
  std::size_t next_ = 0;                        // in by_start_
  std::int64_t chunk_end_ = 0;
  std::vector<HiddenUse> uses_;
};

}  // namespace

std::vector<HiddenUse> spread_cut_work(std::span<const SharedSpan> spans) {
  return CutWork{spans}.spread();
}

}  // namespace schedlab
