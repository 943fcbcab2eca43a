// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

#include <cstdint>
#include <memory>

namespace schedlab {

struct CriticalFirstOptions {
  /// enqueue_all_first: the published listing, all critical tasks are launched before the first
  /// query. interleaved: the published prose, idle streams are filled after every level of the
  /// search.
  enum class Variant : std::uint8_t { interleaved, enqueue_all_first };
  enum class DrainStreams : std::uint8_t { all, secondary };
  /// Which of the other tasks come first. in_order: those that became ready first. by_rank: those
  /// with the longest path behind them, so that updates which a next iteration waits for are early.
  enum class QueueOrder : std::uint8_t { in_order, by_rank };
  /// Who decides while the run goes on. host: the host thread, by stream queries. dynamic: workers,
  /// one a stream, which take ready tasks themselves: critical ones first, in the order in which
  /// they became ready, then others by queue_order. Only that and max_streams then count.
  enum class Dispatch : std::uint8_t { host, dynamic };

  Variant variant = Variant::interleaved;
  Dispatch dispatch = Dispatch::host;
  bool priorities = true;         ///< primary streams above the secondary one
  std::uint32_t max_streams = 0;  ///< 0: no cap, two per layer and one more
  /// false: the first other task waits for the end of the critical phase.
  bool fill_while_critical = true;
  /// Which streams take tasks that are not critical.
  DrainStreams drain_streams = DrainStreams::all;
  QueueOrder queue_order = QueueOrder::in_order;
  Duration sleep = std::chrono::microseconds{20};  ///< after each round of queries; assumed
  /// For `interleaved`: queries per level of the search; 0: every stream once.
  std::uint32_t queries_per_level = 0;
  std::uint32_t max_queries = 400;  ///< per issued task on average, before sleeps grow; assumed
  /// What an idle stream takes; the listing: weight-1 and weight-2.
  std::uint32_t tasks_per_fill = 2;
  /// Entries of the queue looked at for one that need not wait; assumed.
  std::uint32_t look_ahead = 16;
};

/// TurboLSTM: critical tasks first, in a breadth-first search over the critical sub-graph; each
/// layer's chain on a stream of its own, what leaves the layer on a second one, both created with
/// high priority when the search reaches the layer; other tasks wait in a queue until a stream
/// query finds an idle stream. One secondary stream of low priority: 2L + 1 streams for L layers,
/// and for the backward pass 2LT events of critical tasks. With a cap, later layers share the
/// streams there are. An online policy: what it does depends on the answers of queries, so on the
/// machine. Cost: O(tasks (streams + look_ahead) + edges) and the queries. Ties: lower task id;
/// streams in the order of their creation, the secondary one last. Source: TurboLSTM, section 3 and
/// algorithm 1, with the events its listing lacks; queue look-ahead, doubling sleeps and the
/// treatment of reductions and updates are ours, as are iterations that overlap: critical tasks
/// that need updates (OverlapIterations) wait until the drain has issued these, and the search goes
/// on.
class CriticalFirst final : public Policy {
 public:
  explicit CriticalFirst(CriticalFirstOptions options = {},
                         Granularity granularity = Granularity::fine)
      : options_(options), granularity_(granularity) {}
  /// "critical_first", or at matmul granularity, the unit of the published NPU version,
  /// "critical_first_matmul".
  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] Granularity granularity() const override { return granularity_; }
  [[nodiscard]] std::unique_ptr<OnlinePolicy> online(const Problem& problem) const override;
  /// The plan that results on the simulated platform.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  CriticalFirstOptions options_;
  Granularity granularity_;
};

[[nodiscard]] PolicyInfo critical_first_info();
[[nodiscard]] PolicyInfo critical_first_matmul_info();

}  // namespace schedlab
