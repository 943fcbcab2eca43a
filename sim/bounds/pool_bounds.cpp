// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/pool_bounds.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace schedlab::bounds {

namespace {

__extension__ using Wide = __int128;

std::int64_t ceil_of(Wide amount, std::int64_t capacity) {
  return static_cast<std::int64_t>((amount + capacity - 1) / capacity);
}

/// Values at places, to the first k of which a number is added at once, and their largest.
template <class Number>
class PrefixAdd {
 public:
  explicit PrefixAdd(std::span<const Number> values)
      : leaves_(std::bit_ceil(values.size())), best_(2 * leaves_, -1), added_(2 * leaves_, 0) {
    std::copy(values.begin(), values.end(), best_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_ - 1; node > 0; --node) pull(node);
  }
  /// To the places 0..last.
  void add(std::size_t last, Number number) {
    std::size_t node = leaves_ + last;
    best_[node] += number;
    added_[node] += number;
    for (; node > 1; node /= 2) {
      if (node % 2 == 1) {
        best_[node - 1] += number;
        added_[node - 1] += number;
      }
      pull(node / 2);
    }
  }
  [[nodiscard]] Number best() const { return best_[1]; }
  [[nodiscard]] std::size_t best_place() const {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (best_[2 * node + 1] > best_[2 * node] ? 1 : 0);
    return node - leaves_;
  }

 private:
  void pull(std::size_t node) {
    best_[node] = std::max(best_[2 * node], best_[2 * node + 1]) + added_[node];
  }
  std::size_t leaves_;
  std::vector<Number> best_;   // of the places below, without what was added above
  std::vector<Number> added_;  // to all below
};

/// Different tails, rising; of many some, always the least and the largest.
struct TailSteps {
  std::vector<std::int64_t> tails;
  bool all = true;
};
TailSteps tail_steps(const std::vector<Use>& uses) {
  constexpr std::size_t most_steps = 4096;
  std::vector<std::int64_t> tails(uses.size());
  std::transform(uses.begin(), uses.end(), tails.begin(), [](const Use& u) { return u.tail; });
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  if (tails.size() <= most_steps) return {std::move(tails)};
  std::vector<std::int64_t> some(most_steps);
  for (std::size_t i = 0; i < most_steps; ++i) {
    some[i] = tails[i * (tails.size() - 1) / (most_steps - 1)];
  }
  return {std::move(some), false};
}

/// The best threshold of one time for a fixed threshold of the other one.
template <class Fixed, class Free>
SubsetBound best_threshold(std::vector<Use>& uses,
                           std::int64_t capacity,
                           std::int64_t least_fixed,
                           Fixed fixed,
                           Free free) {
  std::sort(
      uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return a.*free > b.*free; });
  Wide amount = 0;
  SubsetBound best;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].*fixed >= least_fixed) amount += uses[i].amount;
    if (amount == 0 || (i + 1 < uses.size() && uses[i + 1].*free == uses[i].*free)) continue;
    const std::int64_t bound = least_fixed + ceil_of(amount, capacity) + uses[i].*free;
    if (bound > best.bound) best = {bound, uses[i].*free, least_fixed};
  }
  return best;
}

/// Where the slope of the energy that a window must take changes as its end moves on.
struct Bend {
  std::int64_t time;
  std::int64_t slope;
};

struct Overfilled {
  Wide excess = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The end at which a window from `begin` is most overfilled, when all must end by `deadline`.
Overfilled fullest_window(const std::vector<Use>& uses,
                          std::int64_t capacity,
                          std::int64_t deadline,
                          std::int64_t begin,
                          std::vector<Bend>& bends) {
  bends.clear();
  for (const Use& use : uses) {
    // Shifted left it is in the window that long; shifted right it starts at `latest`.
    const std::int64_t in_window = std::min(use.duration, use.head + use.duration - begin);
    if (in_window <= 0) continue;
    const std::int64_t latest = std::max(begin, deadline - use.tail - use.duration);
    const std::int64_t rate = use.amount / use.duration;
    bends.push_back({latest, rate});
    bends.push_back({latest + in_window, -rate});
  }
  std::sort(bends.begin(), bends.end(), [](Bend a, Bend b) { return a.time < b.time; });
  Overfilled best{.begin = begin, .end = begin};
  Wide energy = 0;
  std::int64_t slope = 0;
  std::int64_t before = begin;
  for (const Bend bend : bends) {
    energy += Wide{slope} * (bend.time - before);
    before = bend.time;
    slope += bend.slope;
    const Wide excess = energy - Wide{capacity} * (bend.time - begin);
    if (excess > best.excess) best = {excess, begin, bend.time};
  }
  return best;
}

/// The best of `tails` for each head, where a Number holds all sums. `uses` by falling head.
template <class Number>
SubsetBound best_thresholds(const std::vector<Use>& uses,
                            const std::vector<std::int64_t>& tails,
                            std::int64_t capacity) {
  // A place counts once a task with such a tail is there; until then it is too low to be the best.
  const Number low = Number{capacity} * tails.back() + 1;
  std::vector<Number> start(tails.size());
  std::transform(tails.begin(), tails.end(), start.begin(), [&](std::int64_t tail) {
    return Number{capacity} * tail - low;
  });
  PrefixAdd<Number> by_tail{start};
  SubsetBound best;
  Number most = -1;
  std::size_t active = 0;  // places
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto above = std::upper_bound(tails.begin(), tails.end(), uses[i].tail);
    const auto places = static_cast<std::size_t>(above - tails.begin());
    by_tail.add(places - 1, uses[i].amount);
    if (places > active) {
      by_tail.add(places - 1, low);
      if (active != 0) by_tail.add(active - 1, -low);
      active = places;
    }
    if (i + 1 < uses.size() && uses[i + 1].head == uses[i].head) continue;
    const Number here = by_tail.best() + Number{capacity} * uses[i].head;
    if (here <= most) continue;
    most = here;
    best = {0, uses[i].head, tails[by_tail.best_place()]};
  }
  best.bound = ceil_of(most, capacity);
  return best;
}

/// May the sums of best_thresholds() be counted in 64 bits?
bool sums_are_small(const std::vector<Use>& uses, std::int64_t tail, std::int64_t capacity) {
  constexpr Wide most = Wide{1} << 61U;  // thrice that is the largest in between
  Wide amount = 0;
  for (const Use& use : uses) amount += use.amount;
  return amount < most && Wide{capacity} * std::max(tail, uses.front().head) < most;
}

}  // namespace

SubsetBound subset_bound(std::vector<Use>& uses, std::int64_t capacity) {
  if (uses.empty()) return {};
  const auto [tails, exact] = tail_steps(uses);
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.head > b.head; });
  SubsetBound best = sums_are_small(uses, tails.back(), capacity)
                         ? best_thresholds<std::int64_t>(uses, tails, capacity)
                         : best_thresholds<Wide>(uses, tails, capacity);
  if (exact) return best;
  // A task whose tail is between two steps counted for the lower one: look at all tails.
  constexpr int most_turns = 2;
  for (int turn = 0; turn < most_turns; ++turn) {
    const SubsetBound tail = best_threshold(uses, capacity, best.head, &Use::head, &Use::tail);
    if (tail.bound > best.bound) best = {tail.bound, tail.tail, tail.head};
    const SubsetBound head = best_threshold(uses, capacity, best.tail, &Use::tail, &Use::head);
    if (head.bound <= best.bound) break;
    best = head;
  }
  return best;
}

std::optional<WindowBound> energetic_bound(const std::vector<Use>& uses,
                                           std::int64_t capacity,
                                           std::int64_t known,
                                           std::int64_t step,
                                           std::size_t work) {
  constexpr int most_raises = 16;
  constexpr std::size_t fewest_begins = 4;
  const std::size_t most_begins = uses.empty() ? 0 : work / uses.size();
  if (most_begins < fewest_begins) return std::nullopt;
  std::vector<std::int64_t> begins;
  for (const Use& use : uses) {
    begins.push_back(use.head);
    begins.push_back(use.head + use.duration);
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  const std::size_t looked_at = std::min(begins.size(), most_begins);
  std::vector<Bend> bends;
  std::optional<WindowBound> found;
  for (int raise = 0; raise < most_raises; ++raise) {
    Overfilled fullest;
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::int64_t begin = begins[i * begins.size() / looked_at];
      const Overfilled window = fullest_window(uses, capacity, known, begin, bends);
      if (window.excess > fullest.excess) fullest = window;
    }
    if (fullest.excess <= 0) break;
    // As the deadline moves on, the window does with its end: it fills by the capacity.
    const std::int64_t bound = rounded_up(known + ceil_of(fullest.excess, capacity), step);
    const std::int64_t later = ceil_of(fullest.excess, capacity) - 1;
    found = {bound, known + later, fullest.begin, fullest.end + later};
    known = bound;
  }
  return found;
}

}  // namespace schedlab::bounds
