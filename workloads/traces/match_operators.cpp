// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/traced_operators.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace schedlab::detail {
namespace {

using Names = std::vector<std::string_view>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

constexpr std::size_t window = 8;       // assumed: so many equal names in a row are no accident
constexpr std::size_t look_ahead = 64;  // assumed: of operators that only one side has

/// Pairs of places with equal names, both rising: what two recordings of one sequence have in
/// common, if each also has some that the other has not.
class Alignment {
 public:
  Alignment(const Names& a, const Names& b)
      : a_(a), b_(b), size_(std::min({window, a.size(), b.size()})) {
    if (size_ == 0) return;
    for (std::size_t i = 0; i + size_ <= a_.size(); ++i) {
      windows_[hash(a_, i)].push_back(i);
    }
  }

  Pairs run() {
    Pairs pairs;
    std::size_t i = 0;
    std::size_t j = 0;
    if (size_ == 0 || !anchor(i, j)) return pairs;
    while (i < a_.size() && j < b_.size()) {
      if (a_[i] == b_[j]) {
        pairs.emplace_back(i++, j++);
      } else if (!skip(i, j) && !anchor(i, j)) {
        break;
      }
    }
    return pairs;
  }

 private:
  [[nodiscard]] std::size_t hash(const Names& names, std::size_t from) const {
    std::size_t result = 0;
    for (std::size_t k = 0; k < size_; ++k) {
      result = result * 1'000'003 + std::hash<std::string_view>{}(names[from + k]);
    }
    return result;
  }

  /// The first place of b, from j on, at which a window of a stands, from i on.
  bool anchor(std::size_t& i, std::size_t& j) const {
    for (std::size_t there = j; there + size_ <= b_.size(); ++there) {
      const auto found = windows_.find(hash(b_, there));
      if (found == windows_.end()) continue;
      const auto& places = found->second;
      const auto here = std::lower_bound(places.begin(), places.end(), i);
      if (here == places.end() || !same(*here, there)) continue;
      i = *here;
      j = there;
      return true;
    }
    return false;
  }
  [[nodiscard]] bool same(std::size_t i, std::size_t j) const {
    for (std::size_t k = 0; k < size_; ++k) {
      if (a_[i + k] != b_[j + k]) return false;
    }
    return true;
  }

  /// Past as few as possible that one side does not have.
  bool skip(std::size_t& i, std::size_t& j) const {
    for (std::size_t skipped = 1; skipped <= look_ahead; ++skipped) {
      for (std::size_t of_a = 0; of_a <= skipped; ++of_a) {
        const std::size_t next_i = i + of_a;
        const std::size_t next_j = j + skipped - of_a;
        if (next_i >= a_.size() || next_j >= b_.size() || a_[next_i] != b_[next_j]) continue;
        // One equal name may be an accident, unless hardly anything is skipped for it.
        const bool last = next_i + 1 == a_.size() || next_j + 1 == b_.size();
        if (skipped > 1 && !last && a_[next_i + 1] != b_[next_j + 1]) continue;
        i = next_i;
        j = next_j;
        return true;
      }
    }
    return false;
  }

  const Names& a_;
  const Names& b_;
  std::size_t size_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> windows_;
};

/// Operators or rows of one thread, in the order of their begins.
struct Sequence {
  std::vector<std::size_t> places;
  Names names;
};

template <class Key>
using Sequences = std::map<Key, Sequence>;

Sequences<std::int64_t> by_thread(const std::vector<TracedOperator>& operators) {
  Sequences<std::int64_t> result;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    Sequence& sequence = result[operators[i].thread];
    sequence.places.push_back(i);
    sequence.names.push_back(operators[i].name);
  }
  return result;
}

Sequences<HostThreadId> by_thread(const ImportedTrace& profile) {
  Sequences<HostThreadId> result;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const OperatorRow& row = profile.operators[i];
    if (row.kind != OperatorKind::python_function) result[row.thread].places.push_back(i);
  }
  for (auto& [thread, sequence] : result) {
    // Rows are sorted by begin; of equal begins the number tells which was first.
    std::stable_sort(
        sequence.places.begin(), sequence.places.end(), [&](std::size_t a, std::size_t b) {
          const OperatorRow& one = profile.operators[a];
          const OperatorRow& other = profile.operators[b];
          return std::pair{one.started, one.external_id} <
                 std::pair{other.started, other.external_id};
        });
    for (const std::size_t place : sequence.places) {
      sequence.names.push_back(profile.texts[profile.operators[place].name]);
    }
  }
  return result;
}

bool match_by_id(const std::vector<TracedOperator>& operators,
                 const ImportedTrace& profile,
                 MatchedOperators& result) {
  std::unordered_map<std::int64_t, std::size_t> rows;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const std::int64_t number = profile.operators[i].record_function;
    if (number > 0) rows.try_emplace(number, i);
  }
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const auto found = rows.find(operators[i].record_function);
    if (found == rows.end()) continue;
    if (profile.texts[profile.operators[found->second].name] == operators[i].name) {
      result.rows[i] = found->second;
    } else {
      ++result.other_names;
    }
  }
  return !rows.empty();
}

void match_by_order(const std::vector<TracedOperator>& operators,
                    const ImportedTrace& profile,
                    MatchedOperators& result) {
  const auto traced = by_thread(operators);
  auto recorded = by_thread(profile);
  // Both number threads as they like: each takes the one that it has most in common with.
  for (const auto& [number, sequence] : traced) {
    Pairs best;
    HostThreadId thread;
    for (const auto& [candidate, rows] : recorded) {
      Pairs pairs = Alignment{sequence.names, rows.names}.run();
      if (pairs.size() <= best.size()) continue;
      best = std::move(pairs);
      thread = candidate;
    }
    if (best.empty()) continue;
    for (const auto& [here, there] : best) {
      result.rows[sequence.places[here]] = recorded.at(thread).places[there];
    }
    recorded.erase(thread);
  }
}

}  // namespace

MatchedOperators match_operators(const std::vector<TracedOperator>& operators,
                                 const ImportedTrace& profile) {
  MatchedOperators result;
  result.rows.assign(operators.size(), MatchedOperators::none);
  result.by_id = match_by_id(operators, profile, result);
  if (!result.by_id) match_by_order(operators, profile, result);
  return result;
}

}  // namespace schedlab::detail
