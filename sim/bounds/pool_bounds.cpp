// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/pool_bounds.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <utility>

namespace schedlab::bounds {

namespace {

__extension__ using Wide = __int128;

std::int64_t ceil_of(Wide amount, std::int64_t capacity) {
  return static_cast<std::int64_t>((amount + capacity - 1) / capacity);
}

/// The largest sum of a place's own value and of the numbers at it and all places behind it, of
/// places with a number.
template <class Number>
class BestSuffix {
 public:
  explicit BestSuffix(std::size_t places)
      : leaves_(std::bit_ceil(places)), nodes_(2 * leaves_, Node{.best = uncounted, .sum = 0}) {}
  /// `number`, above 0, to a place of this value.
  void add(std::size_t place, Number value, Number number) {
    std::size_t node = leaves_ + place;
    nodes_[node].sum += number;
    nodes_[node].best = value + nodes_[node].sum;
    for (node /= 2; node > 0; node /= 2) {
      nodes_[node].sum += number;
      nodes_[node].best = std::max(of_left(node), nodes_[2 * node + 1].best);
    }
  }
  [[nodiscard]] Number best() const { return nodes_[1].best; }
  /// Its place, the first of equals.
  [[nodiscard]] std::size_t best_place() const {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (right_is_better(node) ? 1 : 0);
    return node - leaves_;
  }

 private:
  /// Far below what counts, even with all numbers.
  static constexpr Number uncounted = -(Number{1} << (sizeof(Number) == 8 ? 62U : 120U));
  struct Node {
    Number best;  // of the places below, without the numbers behind them
    Number sum;   // of the numbers below
  };

  [[nodiscard]] Number of_left(std::size_t node) const {
    return nodes_[2 * node].best + nodes_[2 * node + 1].sum;
  }
  [[nodiscard]] bool right_is_better(std::size_t node) const {
    return nodes_[2 * node + 1].best > of_left(node);
  }

  std::size_t leaves_;
  std::vector<Node> nodes_;
};

/// Different tails, rising; of many some, always the least and the largest.
struct TailSteps {
  std::vector<std::int64_t> tails;
  bool all = true;
};
TailSteps tail_steps(const std::vector<Use>& uses) {
  std::vector<std::int64_t> tails(uses.size());
  std::transform(uses.begin(), uses.end(), tails.begin(), [](const Use& u) { return u.tail; });
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  if (tails.size() <= most_tail_steps) return {std::move(tails)};
  std::vector<std::int64_t> some(most_tail_steps);
  for (std::size_t i = 0; i < most_tail_steps; ++i) {
    some[i] = tails[i * (tails.size() - 1) / (most_tail_steps - 1)];
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

/// The best of `tails` for each head, where a Number holds all sums.
template <class Number>
SubsetBound best_thresholds(std::span<const RankedUse> uses,
                            std::span<const std::int64_t> tails,
                            std::int64_t capacity) {
  BestSuffix<Number> by_tail{tails.size()};
  SubsetBound best;
  Number most = -1;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    // A tail of no use so far shows less than the next longer one.
    by_tail.add(uses[i].place, Number{capacity} * tails[uses[i].place], uses[i].amount);
    if (i + 1 < uses.size() && uses[i + 1].head == uses[i].head) continue;
    const Number here = by_tail.best() + Number{capacity} * uses[i].head;
    if (here <= most) continue;
    most = here;
    best = {0, uses[i].head, tails[by_tail.best_place()]};
  }
  best.bound = ceil_of(most, capacity);
  return best;
}

/// The best threshold of tails, the least of equals.
SubsetBound of_one_head(std::vector<Use>& uses, std::int64_t capacity) {
  std::ranges::sort(uses, std::ranges::greater{}, &Use::tail);
  SubsetBound best{.head = uses.front().head};
  Wide most = -1;
  Wide amount = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    amount += uses[i].amount;
    if (i + 1 < uses.size() && uses[i + 1].tail == uses[i].tail) continue;
    const Wide here = amount + Wide{capacity} * uses[i].tail;
    if (here < most) continue;
    most = here;
    best.tail = uses[i].tail;
  }
  best.bound = ceil_of(most + Wide{capacity} * best.head, capacity);
  return best;
}

/// May the sums of best_thresholds() be counted in 64 bits?
bool sums_are_small(std::span<const RankedUse> uses, std::int64_t tail, std::int64_t capacity) {
  constexpr Wide most = Wide{1} << 61U;  // thrice that is the largest in between
  Wide amount = 0;
  for (const RankedUse& use : uses) amount += use.amount;
  return amount < most && Wide{capacity} * std::max(tail, uses.front().head) < most;
}

}  // namespace

SubsetBound subset_bound(std::span<const RankedUse> uses,
                         std::span<const std::int64_t> tails,
                         std::int64_t capacity) {
  if (uses.empty()) return {};
  return sums_are_small(uses, tails.back(), capacity)
             ? best_thresholds<std::int64_t>(uses, tails, capacity)
             : best_thresholds<Wide>(uses, tails, capacity);
}

SubsetBound subset_bound(std::vector<Use>& uses, std::int64_t capacity) {
  if (uses.empty()) return {};
  const auto is_first = [&](const Use& use) { return use.head == uses.front().head; };
  if (uses.size() <= most_tail_steps && std::ranges::all_of(uses, is_first)) {  // most launches
    return of_one_head(uses, capacity);
  }
  const auto [tails, exact] = tail_steps(uses);
  std::vector<RankedUse> ranked(uses.size());
  std::transform(uses.begin(), uses.end(), ranked.begin(), [&](const Use& use) {
    const auto above = std::upper_bound(tails.begin(), tails.end(), use.tail);
    return RankedUse{use.head, use.amount, static_cast<std::uint32_t>(above - tails.begin() - 1)};
  });
  std::ranges::sort(ranked, std::ranges::greater{}, &RankedUse::head);
  SubsetBound best = subset_bound(ranked, tails, capacity);
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
