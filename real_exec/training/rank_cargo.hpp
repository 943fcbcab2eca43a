// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/ranks/rank_link.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace schedlab::detail {

/// The messages of a plan that concern one rank, each with memory of its own.
class RankCargo {
 public:
  /// All must outlive this. Throws InfeasibleError if the link has too few tags.
  RankCargo(const TaskGraph& graph, const Plan& plan, RankLink& link, const CpuClock& clock);

  /// The message that a task of this rank makes; empty: it makes none.
  [[nodiscard]] std::span<std::byte> made_by(TaskId task);
  /// Waits for what other ranks' `work` of a stage made of micro-batch `m`; empty: it was made on
  /// this rank.
  [[nodiscard]] std::span<const std::byte> received(PipelineWork work,
                                                    std::uint32_t stage,
                                                    std::int64_t m);
  void start(std::uint32_t message);
  void wait(std::uint32_t message);
  void wait_for_all();

  /// Since they were last asked for: time spent waiting, and messages sent, with `left`, and
  /// received, with `arrived`.
  [[nodiscard]] Duration take_blocked();
  [[nodiscard]] std::vector<MessageSpan> take_spans();

 private:
  struct Cargo {
    std::vector<std::byte> bytes;
    RankLink::Request request = 0;
    bool under_way = false;
    bool sends = false;
  };
  /// Which work of which stage and micro-batch made it.
  using Key = std::tuple<PipelineWork, std::uint32_t, std::int64_t>;

  void note(std::uint32_t message, Time left, Time arrived);

  const Plan& plan_;
  RankLink& link_;
  const CpuClock& clock_;
  std::map<std::uint32_t, Cargo> cargo_;  // by message
  std::map<TaskId, std::uint32_t> made_;  // messages by the task that makes them
  std::map<Key, std::uint32_t> needed_;   // messages by what they carry
  Duration blocked_{0};
  std::vector<MessageSpan> spans_;
};

}  // namespace schedlab::detail
