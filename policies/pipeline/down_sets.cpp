// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/down_sets.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

namespace schedlab::detail {
namespace {

std::size_t words(std::size_t vertex_count) {
  return std::max<std::size_t>((vertex_count + 63) / 64, 1);
}

int members(const Bits& bits) {
  return std::accumulate(bits.begin(), bits.end(), 0, [](int sum, std::uint64_t word) {
    return sum + std::popcount(word);
  });
}

struct Needs {
  Needs(std::size_t count, const std::vector<Edge>& edges) : before(count), after(count) {
    for (const Edge& edge : edges) {
      before[edge.second].push_back(edge.first);
      after[edge.first].push_back(edge.second);
    }
  }
  [[nodiscard]] bool met(std::uint32_t vertex, const Bits& set) const {
    return std::all_of(before[vertex].begin(), before[vertex].end(), [&](std::uint32_t needed) {
      return contains(set, needed);
    });
  }
  std::vector<std::vector<std::uint32_t>> before;
  std::vector<std::vector<std::uint32_t>> after;
};

/// Level by level; empty if there are more than `most`.
std::vector<Bits> all_down_sets(std::size_t count, const Needs& needs, std::size_t most) {
  std::vector<Bits> sets{Bits(words(count), 0)};
  std::vector<Bits> level = sets;
  while (!level.empty()) {
    std::set<Bits> next;
    for (const Bits& set : level) {
      for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
        if (contains(set, vertex) || !needs.met(vertex, set)) continue;
        Bits larger = set;
        insert(larger, vertex);
        next.insert(std::move(larger));
      }
      if (sets.size() + next.size() > most) return {};
    }
    level.assign(next.begin(), next.end());
    sets.insert(sets.end(), level.begin(), level.end());
  }
  return sets;
}

/// One order of the vertices: the ready one that comes first by `key`.
std::vector<std::uint32_t> order_by(std::size_t count,
                                    const std::vector<Edge>& edges,
                                    const Needs& needs,
                                    const std::vector<std::int64_t>& key) {
  std::vector<std::uint32_t> waiting(count, 0);
  for (const Edge& edge : edges) ++waiting[edge.second];
  using Entry = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (std::uint32_t v = 0; v < count; ++v) {
    if (waiting[v] == 0) ready.emplace(key[v], v);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t vertex = ready.top().second;
    ready.pop();
    order.push_back(vertex);
    for (const std::uint32_t reader : needs.after[vertex]) {
      if (--waiting[reader] == 0) ready.emplace(key[reader], reader);
    }
  }
  return order;
}

/// The keys of the orders that are tried: by number, by depth from the entries and from the exits,
/// and each of them the other way round among equals.
std::vector<std::vector<std::int64_t>> order_keys(std::size_t count,
                                                  const std::vector<Edge>& edges) {
  std::vector<std::int64_t> number(count);
  std::iota(number.begin(), number.end(), 0);
  std::vector<std::int64_t> down(count, 0);
  std::vector<std::int64_t> up(count, 0);
  // Edges are sorted and go upwards, so one pass each way is enough.
  for (const Edge& e : edges) down[e.second] = std::max(down[e.second], down[e.first] + 1);
  for (auto e = edges.rbegin(); e != edges.rend(); ++e) {
    up[e->first] = std::max(up[e->first], up[e->second] + 1);
  }
  const auto n = static_cast<std::int64_t>(count);
  std::vector<std::vector<std::int64_t>> keys(6, number);
  for (std::size_t v = 0; v < count; ++v) {
    const auto i = static_cast<std::int64_t>(v);
    keys[1][v] = -i;
    keys[2][v] = down[v] * n + i;
    keys[3][v] = down[v] * n - i;
    keys[4][v] = -up[v] * n + i;
    keys[5][v] = -up[v] * n - i;
  }
  return keys;
}

std::set<Bits> some_down_sets(std::size_t count,
                              const std::vector<Edge>& edges,
                              const Needs& needs,
                              std::size_t most) {
  std::set<Bits> sets;
  for (const std::vector<std::int64_t>& key : order_keys(count, edges)) {
    Bits set(words(count), 0);
    if (!sets.empty() && sets.size() + count > most) break;
    sets.insert(set);
    for (const std::uint32_t vertex : order_by(count, edges, needs, key)) {
      insert(set, vertex);
      sets.insert(set);
    }
  }
  const std::vector<Bits> prefixes(sets.begin(), sets.end());
  for (std::size_t distance = 1; distance < prefixes.size(); ++distance) {
    for (std::size_t i = 0; i + distance < prefixes.size(); ++i) {
      if (sets.size() + 2 > most) return sets;
      Bits joined = prefixes[i];
      Bits common = prefixes[i];
      for (std::size_t word = 0; word < joined.size(); ++word) {
        joined[word] |= prefixes[i + distance][word];
        common[word] &= prefixes[i + distance][word];
      }
      sets.insert(std::move(joined));
      sets.insert(std::move(common));
    }
  }
  return sets;
}

}  // namespace

DownSets::DownSets(std::size_t vertex_count, const std::vector<Edge>& edges, std::size_t most) {
  const Needs needs(vertex_count, edges);
  sets_ = all_down_sets(vertex_count, needs, most);
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): known once the sets are
  complete_ = !sets_.empty();
  if (complete_) return;
  // Nothing is proven then, so time is not spent on more of them than help.
  constexpr std::size_t max_of_some = 6000;
  const std::set<Bits> some =
      some_down_sets(vertex_count, edges, needs, std::min(most, max_of_some));
  sets_.assign(some.begin(), some.end());
  std::stable_sort(sets_.begin(), sets_.end(), [](const Bits& a, const Bits& b) {
    return members(a) < members(b);
  });
}

DownSets DownSets::prefixes(std::size_t vertex_count, const std::vector<Edge>& edges) {
  DownSets result;
  result.prefixes_ = vertex_count + 1;
  const auto steps = std::count_if(
      edges.begin(), edges.end(), [](const Edge& e) { return e.first + 1 == e.second; });
  result.complete_ = static_cast<std::size_t>(steps) + 1 >= vertex_count;
  return result;
}

}  // namespace schedlab::detail
