// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_clocks.hpp"

#include <algorithm>

namespace schedlab::checker {

Clocks::Clocks(const PlanIndex& index, bool exact)
    : index_(index),
      exact_(exact || index.plan().hosts.size() == 1),
      hosts_(index.plan().hosts.size()),
      foreign_rows_(index.lane_count()),
      last_(index.lane_count(), 0),
      host_rows_(index.lane_count(), 0),
      foreign_host_rows_(hosts_),
      foreign_posted_(hosts_),
      call_(hosts_, 0),
      foreign_calls_(hosts_),
      host_version_(hosts_, 0),
      lane_version_(index.lane_count(), 0) {
  number_lanes();
  if (!exact_) find_relevant();
}

void Clocks::number_lanes() {
  const auto lanes = static_cast<std::uint32_t>(index_.lane_count());
  first_.assign(hosts_ + 1, 0);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) ++first_[host_of(lane).value() + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  position_.resize(lanes);
  lane_at_.resize(lanes);
  row_.resize(lanes);
  std::size_t size = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    position_[lane] = next[host_of(lane).value()]++;
    lane_at_[position_[lane]] = lane;
    row_[lane] = size;
    size += width(host_of(lane));
  }
  rows_.assign(size, 0);
}

std::uint32_t Clocks::value_of(const Sparse& entries, std::uint32_t key) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), key, [](const Entry& e, std::uint32_t k) {
        return e.key < k;
      });
  return found != entries.end() && found->key == key ? found->value : 0;
}

void Clocks::raise(Sparse& entries, std::uint32_t key, std::uint32_t value) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), key, [](const Entry& e, std::uint32_t k) {
        return e.key < k;
      });
  if (found != entries.end() && found->key == key) {
    found->value = std::max(found->value, value);
  } else if (value > 0) {
    entries.insert(found, {key, value});
  }
}

void Clocks::merge(Sparse& into, const Sparse& from) {
  if (from.empty()) return;
  if (into.empty()) {
    into = from;
    return;
  }
  merged_.clear();
  auto a = into.begin();
  auto b = from.begin();
  while (a != into.end() && b != from.end()) {
    if (a->key < b->key) {
      merged_.push_back(*a++);
    } else if (b->key < a->key) {
      merged_.push_back(*b++);
    } else {
      merged_.push_back({a->key, std::max(a->value, b->value)});
      ++a;
      ++b;
    }
  }
  merged_.insert(merged_.end(), a, into.end());
  merged_.insert(merged_.end(), b, from.end());
  into.assign(merged_.begin(), merged_.end());
}

void Clocks::join(HostId host,
                  std::uint32_t* own,
                  Sparse& foreign,
                  HostId from_host,
                  const std::uint32_t* from_own,
                  const Sparse& from_foreign) {
  if (host == from_host) {
    for (std::size_t i = 0; i < width(host); ++i) own[i] = std::max(own[i], from_own[i]);
    merge(foreign, from_foreign);
    return;
  }
  const std::uint32_t own_begin = first_[host.value()];
  const std::uint32_t own_end = first_[host.value() + 1];
  const std::uint32_t from_begin = first_[from_host.value()];
  const std::uint32_t from_end = first_[from_host.value() + 1];
  arriving_.clear();
  std::size_t next = 0;
  const auto take_until = [&](std::uint32_t end) {
    for (; next < from_foreign.size() && from_foreign[next].key < end; ++next) {
      const Entry& entry = from_foreign[next];
      if (entry.key >= own_begin && entry.key < own_end) {
        own[entry.key - own_begin] = std::max(own[entry.key - own_begin], entry.value);
      } else if (keeps(host, entry.key)) {
        arriving_.push_back(entry);
      }
    }
  };
  take_until(from_begin);
  for (std::uint32_t position = from_begin; position < from_end; ++position) {
    const std::uint32_t value = from_own[position - from_begin];
    if (value != 0 && keeps(host, position)) arriving_.push_back({position, value});
  }
  take_until(never);
  merge(foreign, arriving_);
}

void Clocks::join_lane(HostId host, std::uint32_t* own, Sparse& foreign, std::uint32_t from_lane) {
  join(host, own, foreign, host_of(from_lane), own_row(from_lane), foreign_rows_[from_lane]);
}

std::uint32_t Clocks::enter(HostId host, StreamId stream) {
  const std::uint32_t lane = index_.lane_of(host, stream);
  std::uint32_t* const own = own_row(lane);
  Sparse& foreign = foreign_rows_[lane];
  if (lane_version_[lane] != host_version_[host.value()]) {
    lane_version_[lane] = host_version_[host.value()];
    join(host,
         own,
         foreign,
         host,
         host_rows_.data() + first_[host.value()],
         foreign_host_rows_[host.value()]);
  }
  for (std::uint32_t other = index_.first_lane(stream); other < index_.last_lane(stream); ++other) {
    if (other != lane) follow_lane(host, lane, other);
  }
  for (const StreamId with : index_.in_order_with(stream)) {
    for (std::uint32_t other = index_.first_lane(with); other < index_.last_lane(with); ++other) {
      // What it knows it knew at its last operation, all but what this host knows as well.
      if (!knows(lane, other, std::max(last_[position_[other]], 1U))) {
        follow_lane(host, lane, other);
      }
    }
  }
  return lane;
}

/// The next operation of `lane` is behind what is surely posted to `other` before it.
void Clocks::follow_lane(HostId host, std::uint32_t lane, std::uint32_t other) {
  if (posted_before(host, other)) {
    join_lane(host, own_row(lane), foreign_rows_[lane], other);
    return;
  }
  // Only a first part of the other host's calls is surely earlier in the stream.
  const std::uint32_t position = position_[other];
  raise(foreign_rows_[lane], position, value_of(foreign_posted_[host.value()], position));
}

std::uint32_t Clocks::advance(std::uint32_t lane) {
  const std::uint32_t position = position_[lane];
  const std::uint32_t number = ++last_[position];
  own_row(lane)[position - first_[host_of(lane).value()]] = number;
  return number;
}

bool Clocks::knows(std::uint32_t lane, std::uint32_t other, std::uint32_t number) const {
  const HostId host = host_of(lane);
  const std::uint32_t position = position_[other];
  if (host_of(other) == host) {
    return rows_[row_[lane] + position - first_[host.value()]] >= number;
  }
  return value_of(foreign_rows_[lane], position) >= number;
}

Clocks::Slot Clocks::save(std::uint32_t lane) {
  Slot slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<Slot>(saved_.size());
    saved_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Saved& saved = saved_[slot];
  saved.host = host_of(lane);
  saved.own.assign(own_row(lane), own_row(lane) + width(saved.host));
  saved.foreign = foreign_rows_[lane];
  return slot;
}

void Clocks::wait(std::uint32_t lane, Slot slot) {
  const Saved& saved = saved_[slot];
  join(host_of(lane),
       own_row(lane),
       foreign_rows_[lane],
       saved.host,
       saved.own.data(),
       saved.foreign);
}

void Clocks::synchronize_event(HostId host, Slot slot) {
  const Saved& saved = saved_[slot];
  join(host,
       host_rows_.data() + first_[host.value()],
       foreign_host_rows_[host.value()],
       saved.host,
       saved.own.data(),
       saved.foreign);
  learn(host);
}

void Clocks::synchronize_stream(HostId host, StreamId stream) {
  std::uint32_t* const own = host_rows_.data() + first_[host.value()];
  Sparse& foreign = foreign_host_rows_[host.value()];
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (posted_before(host, lane)) {
      join_lane(host, own, foreign, lane);
    } else {
      const std::uint32_t position = position_[lane];
      raise(foreign, position, value_of(foreign_posted_[host.value()], position));
    }
  }
  learn(host);
}

void Clocks::synchronize_all(HostId host) {
  std::uint32_t* const own = host_rows_.data() + first_[host.value()];
  Sparse& foreign = foreign_host_rows_[host.value()];
  if (index_.platform().ranks > 1) {
    for (std::uint32_t i = first_[host.value()]; i < first_[host.value() + 1]; ++i) {
      const StreamId stream = index_.lane(lane_at_[i]).stream;
      if (index_.plan().streams[stream].device.value() == host.value()) {
        join_lane(host, own, foreign, lane_at_[i]);
      }
    }
  } else {
    // What was surely posted is closed: a wait is only believed if its record was posted before
    // it.
    join(host,
         own,
         foreign,
         host,
         last_.data() + first_[host.value()],
         foreign_posted_[host.value()]);
  }
  learn(host);
}

bool Clocks::made_before(HostId host, HostId other, std::uint32_t call) const {
  return host == other || value_of(foreign_calls_[host.value()], other.value()) > call;
}

bool Clocks::posted_before(HostId host, std::uint32_t lane) const {
  const std::uint32_t position = position_[lane];
  return host_of(lane) == host ||
         value_of(foreign_posted_[host.value()], position) == last_[position];
}

bool Clocks::completed(HostId host, std::uint32_t lane, std::uint32_t number) const {
  const std::uint32_t position = position_[lane];
  const std::uint32_t known = host_of(lane) == host
                                  ? host_rows_[position]
                                  : value_of(foreign_host_rows_[host.value()], position);
  return known >= number;
}

Clocks::Slot Clocks::save_host(HostId host) {
  Slot slot = 0;
  if (free_letters_.empty()) {
    slot = static_cast<Slot>(snapshots_.size());
    snapshots_.emplace_back();
  } else {
    slot = free_letters_.back();
    free_letters_.pop_back();
  }
  ClockSnapshot& snapshot = snapshots_[slot];
  const std::uint32_t begin = first_[host.value()];
  const std::uint32_t end = first_[host.value() + 1];
  snapshot.complete.host = snapshot.posted.host = host;
  snapshot.complete.own.assign(host_rows_.begin() + begin, host_rows_.begin() + end);
  snapshot.complete.foreign = foreign_host_rows_[host.value()];
  snapshot.posted.own.assign(last_.begin() + begin, last_.begin() + end);
  snapshot.posted.foreign = foreign_posted_[host.value()];
  snapshot.call = call_[host.value()];
  snapshot.calls = foreign_calls_[host.value()];
  return slot;
}

void Clocks::learn_from(HostId host, Slot slot) {
  const ClockSnapshot& snapshot = snapshots_[slot];
  const HostId from = snapshot.complete.host;
  join(host,
       host_rows_.data() + first_[host.value()],
       foreign_host_rows_[host.value()],
       from,
       snapshot.complete.own.data(),
       snapshot.complete.foreign);
  // Of its own lanes a host knows what is posted better than anybody: that part must not change.
  std::vector<std::uint32_t> own(width(host), 0);
  join(host,
       own.data(),
       foreign_posted_[host.value()],
       from,
       snapshot.posted.own.data(),
       snapshot.posted.foreign);
  Sparse& calls = foreign_calls_[host.value()];
  const auto note = [&](std::uint32_t other, std::uint32_t call) {
    if (other == host.value()) return;
    if (exact_ ||
        std::binary_search(
            relevant_calls_[host.value()].begin(), relevant_calls_[host.value()].end(), other)) {
      raise(calls, other, call);
    } else {
      dropped_ = true;
    }
  };
  note(from.value(), snapshot.call);
  for (const Entry& entry : snapshot.calls) note(entry.key, entry.value);
  learn(host);
}

bool Clocks::keeps(HostId host, std::uint32_t position) {
  if (exact_) return true;
  const auto& relevant = relevant_[host.value()];
  if (std::binary_search(relevant.begin(), relevant.end(), position)) return true;
  dropped_ = true;
  return false;
}

}  // namespace schedlab::checker
