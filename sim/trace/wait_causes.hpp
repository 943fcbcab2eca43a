// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/attribution.hpp"
#include "sim/trace/release_index.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// Divides the time that tasks wait into parts by cause: the one place that says which is which.
class WaitCauses {
 public:
  struct Part {
    WaitCause cause = WaitCause::other;
    Time begin{};
    Time end{};
  };

  /// All must outlive this.
  WaitCauses(const Problem& problem,
             const Plan& plan,
             const Trace& trace,
             const ReleaseIndex& index);

  /// The parts of [from, start of the span) by time, without gaps; empty if there is no such time.
  [[nodiscard]] std::vector<Part> parts(std::uint32_t span, Time from) const;

 private:
  void mark_graph_nodes();
  void follow_graph_order();
  void follow_connections();
  /// When everything before the units was there: the parts up to it, if `out` is given.
  [[nodiscard]] Time until_ready(std::uint32_t index, Time from, std::vector<Part>* out) const;
  [[nodiscard]] std::vector<std::uint32_t> beside(std::uint32_t index, Time ready) const;
  [[nodiscard]] WaitCause cause_at(std::uint32_t index,
                                   Time ready,
                                   Time at,
                                   const std::vector<std::uint32_t>& present) const;
  void wait_for_units(std::uint32_t index, Time ready, std::vector<Part>& out) const;
  [[nodiscard]] bool compete(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::uint32_t level(std::uint32_t index) const;
  [[nodiscard]] Time end_of_needs(std::uint32_t index) const;
  [[nodiscard]] Time end_of_latency(std::uint32_t index) const;

  /// From readiness to the end: while a task is there for others to see.
  struct Presence {
    Time ready{};
    Time ended{};
    std::uint32_t span = 0;
    Time ended_so_far{};  // the latest end of this and all before
  };

  const Problem& problem_;
  const Plan& plan_;
  const Trace& trace_;
  const ReleaseIndex& index_;
  std::vector<bool> graph_node_;  // by span
  /// A graph's launch waits for what its stream held and for its launch before; a task behind a
  /// graph for all of its nodes. By span.
  std::vector<Time> ordered_after_;
  std::vector<Time> connection_free_;           // by span: all before it in its connection had left
  std::vector<Time> ready_;                     // by span
  std::vector<std::vector<Presence>> present_;  // by device, by rising readiness
};

}  // namespace schedlab
