// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: vector clocks, the whole of its idea of "before".
#pragma once

#include "sim/plan/plan_check_index.hpp"

#include <cstdint>
#include <vector>

namespace schedlab::checker {

/// Vector clocks over lanes (see Lane). The launches and waits of a lane are numbered from 1. For
/// each lane, each host and each saved event there is a row: row[j] = p means that operations 1..p
/// of lane j are complete before the next operation of that lane starts, the next call of that host
/// returns, or that event is complete. Rows are closed: knowing an operation includes what that
/// operation knew.
///
/// Cost  O(lanes) per record, wait, synchronize and message; O(1) per launch unless the host
/// learned
///       something or shares the stream. Memory O(lanes^2 + events in use * lanes).
/// Source  Mattern, Virtual Time and Global States of Distributed Systems, 1989.
class Clocks {
 public:
  using Slot = std::uint32_t;  ///< a saved row, or `never`

  explicit Clocks(const PlanIndex& index);

  /// The host's next operation on the stream: after all that the host knows to be complete and
  /// after what is surely posted to the stream before it. Returns the lane.
  std::uint32_t enter(HostId host, StreamId stream);
  /// One more operation in the lane; returns its number.
  std::uint32_t advance(std::uint32_t lane);
  /// Is operation `number` of lane `other` complete before the next operation of `lane`?
  [[nodiscard]] bool knows(std::uint32_t lane, std::uint32_t other, std::uint32_t number) const {
    return rows_[lane * width_ + other] >= number;
  }

  [[nodiscard]] Slot save(std::uint32_t lane);
  void release(Slot slot) { free_slots_.push_back(slot); }
  void wait(std::uint32_t lane, Slot slot);

  void synchronize_event(HostId host, Slot slot);
  void synchronize_stream(HostId host, StreamId stream);
  void synchronize_all(HostId host);

  /// The host is about to make this call.
  void reach(HostId host, std::uint32_t call) {
    calls_[host.value() * hosts_ + host.value()] = call;
  }
  /// Is call `call` of `other` surely made before the next call of `host`?
  [[nodiscard]] bool made_before(HostId host, HostId other, std::uint32_t call) const {
    return host == other || calls_[host.value() * hosts_ + other.value()] > call;
  }
  /// Are all operations so far in the streams of this lane surely posted before the next call of
  /// `host`?
  [[nodiscard]] bool posted_before(HostId host, std::uint32_t lane) const {
    return posted_[host.value() * width_ + lane] == last_[lane];
  }
  /// Two hosts meet in a message: each now knows what the other knew.
  void meet(HostId a, HostId b);

 private:
  void learn(HostId host);
  static void join(std::uint32_t* into, const std::uint32_t* from, std::size_t size);
  static void level(std::uint32_t* a, std::uint32_t* b, std::size_t size);

  const PlanIndex& index_;
  std::size_t width_;  // lanes
  std::size_t hosts_;
  std::vector<std::uint32_t> rows_;       // [lane, lane]
  std::vector<std::uint32_t> last_;       // [lane] operations so far
  std::vector<std::uint32_t> host_rows_;  // [host, lane]
  std::vector<std::uint32_t> posted_;  // [host, lane] operations surely posted before the next call
  std::vector<std::uint32_t> calls_;   // [host, host] calls surely made, own: the present call
  std::vector<std::uint32_t> host_version_;  // [host] counts what the host learned
  std::vector<std::uint32_t> lane_version_;  // [lane] version of the host's row already joined
  std::vector<std::uint32_t> saved_;         // [slot, lane]
  std::vector<Slot> free_slots_;
};

}  // namespace schedlab::checker
