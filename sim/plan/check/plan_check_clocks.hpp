// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: vector clocks, the whole of its idea of "before".
#pragma once

#include "sim/plan/check/plan_check_index.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::checker {

/// Vector clocks over lanes (see Lane). The launches and waits of a lane are numbered from 1. For
/// each lane, each host and each saved event there is a row: row[j] = p means that operations 1..p
/// of lane j are complete before the next operation of that lane starts, the next call of that host
/// returns, or that event is complete. Rows are closed: knowing an operation includes what that
/// operation knew.
///
/// A row is dense over the lanes of its own host and sparse over all others. With ten thousand
/// hosts that pass messages, whole rows would still fill up: everybody learns of everybody. So,
/// unless `exact`, a host keeps of other hosts only what the graph and the plan can make it ask
/// for: lanes whose tasks its own tasks depend on, lanes and calls of streams and events that it
/// shares. What is kept is true; what was dropped() may be missing where it would have come to a
/// host by way of a third. Whoever then finds something unordered asks again with `exact`.
///
/// Cost    O(lanes of the host + entries) per record, wait, synchronize and message; O(1) per
///         launch unless the host learned something or shares the stream.
/// Memory  O(lanes of a host, squared, summed over hosts, + entries).
/// Source  Mattern, Virtual Time and Global States of Distributed Systems, 1989.
class Clocks {
 public:
  using Slot = std::uint32_t;  ///< a saved row, or `never`

  Clocks(const PlanIndex& index, bool exact);

  /// The host's next operation on the stream: after all that the host knows to be complete and
  /// after what is surely posted before it, to the stream and to those that are in order with it.
  /// Returns the lane. In a legacy default stream every operation must advance().
  std::uint32_t enter(HostId host, StreamId stream);
  /// One more operation in the lane; returns its number.
  std::uint32_t advance(std::uint32_t lane);
  /// Is operation `number` of lane `other` complete before the next operation of `lane`?
  [[nodiscard]] bool knows(std::uint32_t lane, std::uint32_t other, std::uint32_t number) const;

  [[nodiscard]] Slot save(std::uint32_t lane);
  void release(Slot slot) { free_slots_.push_back(slot); }
  void wait(std::uint32_t lane, Slot slot);

  void synchronize_event(HostId host, Slot slot);
  void synchronize_stream(HostId host, StreamId stream);
  /// All devices, or on a platform of ranks the host's own.
  void synchronize_all(HostId host);

  /// The host is about to make this call.
  void reach(HostId host, std::uint32_t call) { call_[host.value()] = call; }
  /// Is call `call` of `other` surely made before the next call of `host`?
  [[nodiscard]] bool made_before(HostId host, HostId other, std::uint32_t call) const;
  /// Are all operations so far in the streams of this lane surely posted before the next call of
  /// `host`?
  [[nodiscard]] bool posted_before(HostId host, std::uint32_t lane) const;

  /// Does the host know that operation `number` of the lane is complete? Always of 0.
  [[nodiscard]] bool completed(HostId host, std::uint32_t lane, std::uint32_t number) const;

  /// Keeps what the host knows now, as a message carries it.
  [[nodiscard]] Slot save_host(HostId host);
  void release_host(Slot slot) { free_letters_.push_back(slot); }
  /// The host learns what save_host() kept.
  void learn_from(HostId host, Slot slot);

  /// Was anything left out that somebody might have asked for? Never if `exact`.
  [[nodiscard]] bool dropped() const { return dropped_; }

 private:
  struct Entry {
    std::uint32_t key = 0;    ///< position of a lane, or number of a host
    std::uint32_t value = 0;  ///< > 0
  };
  using Sparse = std::vector<Entry>;  // by rising key
  struct Saved {
    HostId host;
    std::vector<std::uint32_t> own;  // of the host's lanes
    Sparse foreign;
  };
  /// What a host knows at one moment.
  struct ClockSnapshot {
    Saved complete;
    Saved posted;
    std::uint32_t call = 0;
    Sparse calls;
  };

  void number_lanes();
  void find_relevant();
  void relevant_tasks();
  void relevant_lanes(std::uint32_t lane, StreamId others);
  void relevant_streams();
  void relevant_events();
  [[nodiscard]] bool keeps(HostId host, std::uint32_t position);
  [[nodiscard]] std::uint32_t* own_row(std::uint32_t lane) { return rows_.data() + row_[lane]; }
  [[nodiscard]] std::size_t width(HostId host) const {
    return first_[host.value() + 1] - first_[host.value()];
  }
  [[nodiscard]] HostId host_of(std::uint32_t lane) const { return index_.lane(lane).host; }
  void learn(HostId host) { ++host_version_[host.value()]; }
  static std::uint32_t value_of(const Sparse& entries, std::uint32_t key);
  static void raise(Sparse& entries, std::uint32_t key, std::uint32_t value);
  void merge(Sparse& into, const Sparse& from);
  /// Joins a row of `from_host` into one of `host`.
  void join(HostId host,
            std::uint32_t* own,
            Sparse& foreign,
            HostId from_host,
            const std::uint32_t* from_own,
            const Sparse& from_foreign);
  void follow_lane(HostId host, std::uint32_t lane, std::uint32_t other);
  void join_lane(HostId host, std::uint32_t* own, Sparse& foreign, std::uint32_t from_lane);

  const PlanIndex& index_;
  bool exact_;
  bool dropped_ = false;
  std::size_t hosts_;
  // Lanes in the order of their hosts: position_[lane]; those of a host are first_[h]..first_[h+1].
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> lane_at_;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::uint32_t>> relevant_;        // by host: positions, rising
  std::vector<std::vector<std::uint32_t>> relevant_calls_;  // by host: hosts, rising

  std::vector<std::size_t> row_;  // by lane: where its own row begins in rows_
  std::vector<std::uint32_t> rows_;
  std::vector<Sparse> foreign_rows_;  // by lane
  std::vector<std::uint32_t> last_;   // by position: operations so far, all of them posted
  std::vector<std::uint32_t> host_rows_;
  std::vector<Sparse> foreign_host_rows_;
  std::vector<Sparse> foreign_posted_;  // by host: operations surely posted before its next call
  std::vector<std::uint32_t> call_;     // by host: its present call
  std::vector<Sparse> foreign_calls_;   // by host: calls of others surely made
  std::vector<std::uint32_t> host_version_;  // by host: counts what the host learned
  std::vector<std::uint32_t> lane_version_;  // by lane: version of the host's row already joined
  std::vector<Saved> saved_;
  std::vector<Slot> free_slots_;
  std::vector<ClockSnapshot> snapshots_;
  std::vector<Slot> free_letters_;
  Sparse arriving_;  // scratch of join()
  Sparse merged_;    // scratch of merge()
};

}  // namespace schedlab::checker
