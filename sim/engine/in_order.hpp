// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/simulator.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// The fast path: one pass over the calls of a plan in host order, no event queue.
///
/// When nothing but order decides (in_order_applies()), the start of a task is the
/// maximum of the end of its stream, the events it waits for, its arrival and the place in its
/// connection, and all of these come from earlier calls. Equal to the event engine to the
/// picosecond, on every plan it applies to; a property test holds the two together.
/// Cost: a few nanoseconds a call.
class InOrderSweep {
 public:
  [[nodiscard]] Trace run(const Problem& problem,
                          const Plan& plan,
                          const SimulationOptions& options);
  /// As run(), but re-uses the memory of `trace`.
  void run_into(const Problem& problem,
                const Plan& plan,
                const SimulationOptions& options,
                Trace& trace);
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct alignas(64) Stream {
    Time free_from{};  ///< end of its last task + gap
    Time last_item{};  ///< its last call of any kind is done: from here on it is idle
    // Of its device; here so that a call touches one cache line.
    Duration launch_latency{0};
    Duration gap{0};
    Duration gained{0};  ///< of that gap, by a programmatic launch
    Duration event_latency{0};
    std::uint32_t connection = 0;
    std::uint32_t tasks = 0;
    DeviceId device{0};
    bool open = false;  ///< and not destroyed
    bool destroyed = false;
    StreamSync sync = StreamSync::non_blocking;
  };
  /// What the legacy default stream and the blocking streams of a device wait for in each other.
  struct LegacyOrder {
    Time legacy{Duration{-1}};    ///< when all so far is complete; negative: there is nothing
    Time blocking{Duration{-1}};  ///< likewise, of all blocking streams
  };
  struct Event {
    Time completed{};
    StreamId stream;  ///< none(): never recorded
  };
  struct GraphState {
    std::uint32_t launches = 0;
    Time completed{};  ///< its latest execution
  };
  struct Run;  // one run: references and the host's clock

  void begin(const Problem& problem, const Plan& plan);
  void sweep(Run& run);
  template <bool free_host>
  void sweep_plain(Run& run);
  void sweep_recorded(Run& run);
  Stream& usable(Run& run, StreamId id);
  Stream& open(Run& run, StreamId id);
  void execute(Run& run, HostCall& call);
  void execute_in_order(Run& run, HostCall& call);
  void launch(Run& run, HostCall call);
  void wait_for_slot(Run& run, StreamId id, const Stream& stream);
  void note_end(Run& run, StreamId id, Stream& stream, Time end);
  // in_order_graphs.cpp
  static void load_graph(Run& run, HostCall call);
  void launch_graph(Run& run, HostCall call);
  Time run_nodes(Run& run, const DeviceGraph& graph, std::uint32_t row, Time start);
  void record(Run& run, HostCall call);
  void wait(Run& run, HostCall call);
  void synchronize(Run& run, HostCall call);
  [[nodiscard]] Time last_activity() const;

  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<Time> connections_;               ///< when the last call left
  std::vector<std::vector<Time>> recent_ends_;  ///< by stream: ends of the last `depth` tasks
  std::vector<std::uint32_t> opened_;           ///< by device: streams opened so far
  std::vector<std::uint32_t> first_connection_;
  std::vector<LegacyOrder> legacy_;  ///< by device; empty: no stream is a legacy default stream
  std::vector<GraphState> graphs_;
  std::vector<Time> node_ends_;  ///< of one execution of a graph
};

}  // namespace schedlab
