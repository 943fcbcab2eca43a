// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_check_clocks.hpp"

#include <algorithm>

namespace schedlab::checker {

Clocks::Clocks(const PlanIndex& index)
    : index_(index),
      width_(index.lane_count()),
      hosts_(index.plan().hosts.size()),
      rows_(width_ * width_, 0),
      last_(width_, 0),
      host_rows_(hosts_ * width_, 0),
      posted_(hosts_ * width_, 0),
      calls_(hosts_ * hosts_, 0),
      host_version_(hosts_, 0),
      lane_version_(width_, 0) {}

void Clocks::join(std::uint32_t* into, const std::uint32_t* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) into[i] = std::max(into[i], from[i]);
}

void Clocks::level(std::uint32_t* a, std::uint32_t* b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) a[i] = b[i] = std::max(a[i], b[i]);
}

void Clocks::learn(HostId host) {
  ++host_version_[host.value()];
}

std::uint32_t Clocks::enter(HostId host, StreamId stream) {
  const std::uint32_t lane = index_.lane_of(host, stream);
  std::uint32_t* const row = rows_.data() + lane * width_;
  if (lane_version_[lane] != host_version_[host.value()]) {
    lane_version_[lane] = host_version_[host.value()];
    join(row, host_rows_.data() + host.value() * width_, width_);
  }
  const std::uint32_t* const posted = posted_.data() + host.value() * width_;
  for (std::uint32_t other = index_.first_lane(stream); other < index_.last_lane(stream); ++other) {
    if (other == lane) continue;
    if (posted_before(host, other)) {
      join(row, rows_.data() + other * width_, width_);
    } else {
      // Only a first part of the other host's calls is surely earlier in the stream.
      row[other] = std::max(row[other], posted[other]);
    }
  }
  return lane;
}

std::uint32_t Clocks::advance(std::uint32_t lane) {
  const std::uint32_t number = ++last_[lane];
  rows_[lane * width_ + lane] = number;
  posted_[index_.lane(lane).host.value() * width_ + lane] = number;
  return number;
}

Clocks::Slot Clocks::save(std::uint32_t lane) {
  Slot slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<Slot>(saved_.size() / width_);
    saved_.resize(saved_.size() + width_);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  std::copy_n(rows_.data() + lane * width_, width_, saved_.data() + slot * width_);
  return slot;
}

void Clocks::wait(std::uint32_t lane, Slot slot) {
  join(rows_.data() + lane * width_, saved_.data() + slot * width_, width_);
}

void Clocks::synchronize_event(HostId host, Slot slot) {
  join(host_rows_.data() + host.value() * width_, saved_.data() + slot * width_, width_);
  learn(host);
}

void Clocks::synchronize_stream(HostId host, StreamId stream) {
  std::uint32_t* const row = host_rows_.data() + host.value() * width_;
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (posted_before(host, lane)) {
      join(row, rows_.data() + lane * width_, width_);
    } else {
      row[lane] = std::max(row[lane], posted_[host.value() * width_ + lane]);
    }
  }
  learn(host);
}

void Clocks::synchronize_all(HostId host) {
  // What was surely posted is closed: a wait is only believed if its record was posted before it.
  join(host_rows_.data() + host.value() * width_, posted_.data() + host.value() * width_, width_);
  learn(host);
}

void Clocks::meet(HostId a, HostId b) {
  level(host_rows_.data() + a.value() * width_, host_rows_.data() + b.value() * width_, width_);
  level(posted_.data() + a.value() * width_, posted_.data() + b.value() * width_, width_);
  level(calls_.data() + a.value() * hosts_, calls_.data() + b.value() * hosts_, hosts_);
  learn(a);
  learn(b);
}

}  // namespace schedlab::checker
