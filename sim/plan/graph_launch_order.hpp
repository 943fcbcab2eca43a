// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// What graphs that one host launches one after another must wait for while they are captured: a
/// stream's work may lie in several graphs that are launched into different streams, which nothing
/// else orders. A graph counts as a whole: all of it waits for all of what one of its nodes needs.
/// Hosts are captured one after another; graphs are numbered in the order of their launches, over
/// all hosts.
class GraphLaunchOrder {
 public:
  /// Graphs that must be complete; of those launched into one stream only the latest.
  using Graphs = std::vector<std::uint32_t>;

  /// `made`: the plan under construction, which gets the events. It must outlive this.
  GraphLaunchOrder(Plan& made, std::size_t streams);

  /// The next host begins.
  void start();
  /// What the work that the stream was given so far stands for, without the graph under
  /// construction.
  [[nodiscard]] const Graphs& after(StreamId stream) const { return after_[stream]; }
  /// What comes next in `stream` needs `graphs`.
  void add_needs(StreamId stream, const Graphs& graphs);
  /// Adds the waits to `calls` without which a graph launched into `into` could start before what a
  /// node of `stream` needs.
  void wait(StreamId stream, StreamId into, std::vector<HostCall>& calls);
  void launch(StreamId into);
  /// The graph launched last has nodes of `stream`, or some that it has waited for.
  void contains(StreamId stream, bool nodes);

  /// Adds calls that return when `graphs` are complete.
  void synchronize(const Graphs& graphs, std::vector<HostCall>& calls);
  /// The host knows that all it has launched is complete.
  void complete_all();
  /// The events that were waited for are recorded behind their graphs.
  void add_records(std::vector<HostCall>& calls) const;

 private:
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(into_.size()); }
  [[nodiscard]] bool complete(std::uint32_t graph) const { return graph < complete_[into_[graph]]; }
  void merge(std::uint32_t graph, Graphs& graphs) const;
  [[nodiscard]] EventId event(std::uint32_t graph);
  void touch(StreamId stream);

  Plan& made_;
  std::vector<StreamId> into_;                  // by graph
  std::vector<EventId> events_;                 // by graph; none(): without waits for it
  IdVector<StreamId, Graphs> after_;            // by stream of the eager plan
  IdVector<StreamId, Graphs> waited_;           // by stream of launches: for what a wait was added
  IdVector<StreamId, std::uint32_t> complete_;  // likewise: graphs before this one are complete
  IdVector<StreamId, std::uint32_t> latest_;    // likewise: the latest graph
  std::vector<StreamId> touched_;               // of this host
};

}  // namespace schedlab
