// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

// HEFT and PEFT written down from their papers for processors that differ and transfers that cost,
// in plain numbers. They share no code with the policies.
//   HEFT  Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206
//   PEFT  Arabnejad, Barbosa, IEEE TPDS 25(3), 2014, doi 10.1109/TPDS.2013.57
namespace schedlab::testing::published {

struct Application {
  std::vector<std::vector<std::int64_t>> cost;  ///< [task][processor]
  /// (from, to) and what the transfer costs between two processors; tasks count from 0.
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> edges;
  /// Not in the papers: sets of tasks that run one after another, in the order of their placement.
  std::vector<std::vector<std::size_t>> apart{};

  [[nodiscard]] std::size_t tasks() const { return cost.size(); }
  [[nodiscard]] std::size_t processors() const { return cost.empty() ? 0 : cost.front().size(); }
};

struct Placed {
  std::size_t processor = 0;
  std::int64_t start = 0;
  std::int64_t finish = 0;
};

/// A table [task][processor] that is worked out by passes over the edges until nothing changes.
using Table = std::vector<std::vector<std::int64_t>>;

/// Optimistic cost table, equation (4) of PEFT's paper.
inline Table optimistic_costs(const Application& app) {
  const std::size_t processors = app.processors();
  Table oct(app.tasks(), std::vector<std::int64_t>(processors, 0));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = app.edges.rbegin(); it != app.edges.rend(); ++it) {
      const auto [from, to] = it->first;
      for (std::size_t p = 0; p < processors; ++p) {
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        for (std::size_t q = 0; q < processors; ++q) {
          best = std::min(best, oct[to][q] + app.cost[to][q] + (p == q ? 0 : it->second));
        }
        if (best <= oct[from][p]) continue;
        oct[from][p] = best;
        changed = true;
      }
    }
  }
  return oct;
}

/// Mean over the processors times their number, so that it is a whole number.
inline std::vector<std::int64_t> sums(const Table& table) {
  std::vector<std::int64_t> result;
  for (const auto& row : table) {
    std::int64_t sum = 0;
    for (const std::int64_t value : row) sum += value;
    result.push_back(sum);
  }
  return result;
}

/// Upward rank times the number of processors, equation (8) of HEFT's paper.
inline std::vector<std::int64_t> upward_ranks(const Application& app) {
  const std::vector<std::int64_t> own = sums(app.cost);
  const auto processors = static_cast<std::int64_t>(app.processors());
  std::vector<std::int64_t> rank = own;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = app.edges.rbegin(); it != app.edges.rend(); ++it) {
      const auto [from, to] = it->first;
      const std::int64_t along = own[from] + it->second * processors + rank[to];
      if (along <= rank[from]) continue;
      rank[from] = along;
      changed = true;
    }
  }
  return rank;
}

/// The earliest start from `ready` on, on a processor that has `there` already: when the data is
/// there, or when some task ends. With `insertion` it is enough that nothing else runs within it.
inline std::int64_t earliest_start(const std::vector<Placed>& there,
                                   std::int64_t ready,
                                   std::int64_t length,
                                   bool insertion) {
  std::vector<std::int64_t> starts{ready};
  std::int64_t last = 0;
  for (const Placed& other : there) {
    starts.push_back(std::max(ready, other.finish));
    last = std::max(last, other.finish);
  }
  std::sort(starts.begin(), starts.end());
  return *std::find_if(starts.begin(), starts.end(), [&](std::int64_t start) {
    if (!insertion) return start >= last;
    return std::all_of(there.begin(), there.end(), [&](const Placed& other) {
      return other.finish <= start || other.start >= start + length;
    });
  });
}

/// Of the ready tasks the one with the highest priority, the lower number among equals, goes where
/// `score` of its finish is least, the lower processor among equals; `insertion`: into an idle slot
/// if one is long enough.
template <class Score>
std::vector<Placed> list_schedule(const Application& app,
                                  const std::vector<std::int64_t>& priority,
                                  bool insertion,
                                  Score score) {
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> before(app.tasks());
  for (const auto& [edge, transfer] : app.edges)
    before[edge.second].emplace_back(edge.first, transfer);
  std::vector<Placed> placed(app.tasks());
  std::vector<bool> done(app.tasks(), false);
  std::vector<std::vector<Placed>> on(app.processors());
  for (std::size_t round = 0; round < app.tasks(); ++round) {
    std::size_t task = app.tasks();
    for (std::size_t t = 0; t < app.tasks(); ++t) {
      if (done[t] || (task < app.tasks() && priority[t] <= priority[task])) continue;
      if (std::all_of(before[t].begin(), before[t].end(), [&](const auto& b) {
            return bool{done[b.first]};
          }))
        task = t;
    }
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::size_t p = 0; p < app.processors(); ++p) {
      std::int64_t ready = 0;
      for (const auto& [from, transfer] : before[task]) {
        ready = std::max(ready, placed[from].finish + (placed[from].processor == p ? 0 : transfer));
      }
      for (const std::vector<std::size_t>& set : app.apart) {
        if (std::find(set.begin(), set.end(), task) == set.end()) continue;
        for (const std::size_t other : set) {
          if (done[other]) ready = std::max(ready, placed[other].finish);
        }
      }
      const std::int64_t length = app.cost[task][p];
      const std::int64_t start = earliest_start(on[p], ready, length, insertion);
      if (score(task, p, start + length) >= best) continue;
      best = score(task, p, start + length);
      placed[task] = {p, start, start + length};
    }
    on[placed[task].processor].push_back(placed[task]);
    done[task] = true;
  }
  return placed;
}

inline std::vector<Placed> heft(const Application& app, bool insertion = true) {
  return list_schedule(
      app, upward_ranks(app), insertion, [](std::size_t, std::size_t, std::int64_t finish) {
        return finish;
      });
}

inline std::vector<Placed> peft(const Application& app, bool insertion = true) {
  const Table oct = optimistic_costs(app);
  return list_schedule(
      app, sums(oct), insertion, [&](std::size_t task, std::size_t p, std::int64_t finish) {
        return finish + oct[task][p];
      });
}

inline std::int64_t makespan(const std::vector<Placed>& schedule) {
  std::int64_t end = 0;
  for (const Placed& placed : schedule) end = std::max(end, placed.finish);
  return end;
}

/// A graph with its durations on equal processors, without transfers, which in SchedLab are tasks.
inline Application on_equal_processors(const TaskGraph& graph,
                                       const IdVector<TaskId, Duration>& durations,
                                       std::size_t processors) {
  Application app;
  for (const TaskId task : graph.tasks()) {
    app.cost.emplace_back(processors, durations[task].count());
    for (const TaskId after : graph.successors(task)) app.edges[{task.value(), after.value()}] = 0;
  }
  return app;
}

/// By the name of a policy: heft, peft, heft_no_insertion, peft_no_insertion.
inline std::vector<Placed> schedule(const std::string& policy, const Application& app) {
  const bool insertion = policy.find("no_insertion") == std::string::npos;
  return policy[0] == 'h' ? heft(app, insertion) : peft(app, insertion);
}

}  // namespace schedlab::testing::published
