// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/reconstruct.hpp"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab::reconstruction {

/// Two rows may touch by as much as the profiler rounds.
[[nodiscard]] Duration slack(const ImportedTrace& trace);

/// A launch as the host made it.
struct Launch {
  Time called{};
  HostThreadId thread;
  StreamItemId item;
  StreamId stream;
};

/// Launches by time and by stream, and synchronisation rows by correlation.
class LaunchOrder {
 public:
  LaunchOrder(const ImportedTrace& trace, const ReconstructedTrace& result);

  /// The last launch into the stream before `when`; nullptr if there is none.
  [[nodiscard]] const Launch* last_before(StreamId stream, Time when) const;
  /// The first launch into the stream after `when`; nullptr if there is none.
  [[nodiscard]] const Launch* first_after(StreamId stream, Time when) const;
  /// The thread's first launch after `when`, or, if it has none, anybody's.
  [[nodiscard]] const Launch* next_of(HostThreadId thread, Time when) const;
  /// The thread's last launch before `when`, or, if it has none, anybody's.
  [[nodiscard]] const Launch* last_of(HostThreadId thread, Time when) const;
  [[nodiscard]] const std::vector<Launch>& all() const { return all_; }
  /// none() if the trace has no activity there.
  [[nodiscard]] StreamId stream(std::int32_t device, std::int64_t stream) const;
  /// nullptr if no row was recorded for the call.
  [[nodiscard]] const SyncRow* row(const CallRow& call) const;
  /// The call that recorded an event; nullptr if it is not in the trace.
  [[nodiscard]] const CallRow* recording(std::uint64_t correlation) const;

 private:
  std::vector<Launch> all_;
  IdVector<StreamId, std::vector<Launch>> by_stream_;
  std::map<HostThreadId, std::vector<Launch>> by_thread_;
  std::map<std::pair<std::int32_t, std::int64_t>, StreamId> streams_;
  std::unordered_map<std::uint64_t, const SyncRow*> rows_;
  std::unordered_map<std::uint64_t, const CallRow*> recordings_;
};

/// Fills in the dependencies and their counts.
void find_ties(const ImportedTrace& trace, const LaunchOrder& order, ReconstructedTrace& result);
/// Fills in the steps of the host and the counts of its waits.
void find_host_steps(const ImportedTrace& trace,
                     const LaunchOrder& order,
                     ReconstructedTrace& result);

}  // namespace schedlab::reconstruction
