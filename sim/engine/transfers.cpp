// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/transfers.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace schedlab {

void Transfers::reset(const Network& network, std::uint32_t ranks) {
  routes_ = Routes{network, ranks};
  transfers_.clear();
  free_.clear();
  changed_links_.clear();
  changed_flows_.clear();
  ends_.clear();
  links_.resize(routes_.link_count());
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    links_[i].transfers.clear();
    links_[i].demand = 0;
    links_[i].changed = links_[i].visited = false;
    links_[i].bandwidth = routes_.bandwidth(LinkId{i}).count();
  }
}

void Transfers::mark(LinkId link) {
  LinkState& state = links_[link.value()];
  if (state.changed) return;
  state.changed = true;
  changed_links_.push_back(link.value());
}

std::uint32_t Transfers::add(std::uint32_t payload, Time now) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(transfers_.size());
    transfers_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Transfer& transfer = transfers_[index];
  transfer.payload = payload;
  transfer.active = true;
  transfer.flow = false;
  transfer.rate = 0;
  transfer.updated = now;
  transfer.end = Time::max();
  return index;
}

void Transfers::enter_links(std::uint32_t index) {
  const Transfer& transfer = transfers_[index];
  for (std::size_t i = 0; i < transfer.route.size(); ++i) {
    LinkState& state = links_[transfer.route[i].value()];
    state.transfers.push_back({index, transfer.weights[i]});
    state.demand += transfer.limit * transfer.weights[i];
    mark(transfer.route[i]);
  }
}

void Transfers::start(std::uint32_t payload, std::span<const LinkId> route, Bytes bytes, Time now) {
  SCHEDLAB_EXPECTS(!route.empty() && bytes > Bytes{0}, "a transfer has bytes and a route");
  const std::uint32_t index = add(payload, now);
  Transfer& transfer = transfers_[index];
  transfer.left = static_cast<double>(bytes.count());
  transfer.route.assign(route.begin(), route.end());
  transfer.weights.assign(route.size(), 1.0);
  transfer.limit = std::numeric_limits<double>::infinity();
  for (const LinkId link : route) {
    transfer.limit = std::min(transfer.limit, links_[link.value()].bandwidth);
  }
  enter_links(index);
}

std::uint32_t Transfers::start_flow(std::uint32_t payload,
                                    std::span<const LinkShare> uses,
                                    Time now) {
  const std::uint32_t index = add(payload, now);
  Transfer& flow = transfers_[index];
  flow.flow = true;
  flow.limit = 0;
  flow.route.clear();
  flow.weights.clear();
  for (const LinkShare& use : uses) {
    flow.route.push_back(use.link);
    flow.weights.push_back(use.share * links_[use.link.value()].bandwidth);
    flow.limit = std::max(flow.limit, flow.weights.back());
  }
  SCHEDLAB_EXPECTS(flow.limit > 0.0, "a flow takes something of a link");
  for (double& weight : flow.weights) weight /= flow.limit;
  enter_links(index);
  return index;
}

void Transfers::collect(std::uint32_t first) {
  group_links_.clear();
  group_transfers_.clear();
  group_links_.push_back(first);
  links_[first].visited = true;
  for (std::size_t i = 0; i < group_links_.size(); ++i) {
    const LinkState& link = links_[group_links_[i]];
    // A link that bounds no transfer couples none; but what it bounded until now is to be looked
    // at.
    if (!link.changed && !bounds(link)) continue;
    for (const auto& [index, weight] : link.transfers) {
      Transfer& transfer = transfers_[index];
      if (transfer.visited) continue;
      transfer.visited = true;
      group_transfers_.push_back(index);
      for (const LinkId other : transfer.route) {
        LinkState& state = links_[other.value()];
        if (state.visited || (!bounds(state) && !state.changed)) continue;
        state.visited = true;
        group_links_.push_back(other.value());
      }
    }
  }
}

void Transfers::push_level(double rate, std::uint32_t index) {
  levels_.push_back({rate, index});
  std::push_heap(levels_.begin(), levels_.end(), [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.index > b.index;
  });
}

void Transfers::freeze(std::uint32_t index, double rate) {
  Transfer& transfer = transfers_[index];
  transfer.frozen = true;
  transfer.new_rate = std::min(rate, transfer.limit);
  for (std::size_t i = 0; i < transfer.route.size(); ++i) {
    LinkState& state = links_[transfer.route[i].value()];
    if (!state.visited) continue;
    state.left = std::max(0.0, state.left - transfer.new_rate * transfer.weights[i]);
    state.weight -= transfer.weights[i];
    --state.unfrozen;
  }
}

/// Progressive filling: the link with the least share per transfer decides for its transfers, then
/// the next. Shares only grow while others are decided, so a heap with late correction suffices.
void Transfers::fill() {
  levels_.clear();
  for (const std::uint32_t index : group_transfers_) {
    transfers_[index].frozen = false;
    push_level(transfers_[index].limit, index | transfer_bit);
  }
  for (const std::uint32_t index : group_links_) {
    LinkState& link = links_[index];
    link.left = link.bandwidth;
    link.unfrozen = static_cast<std::uint32_t>(link.transfers.size());
    link.weight = 0;
    for (const OnLink& on : link.transfers) link.weight += on.weight;
    if (bounds(link)) push_level(link.left / link.weight, index);
  }
  const auto later = [](const Level& a, const Level& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.index > b.index;
  };
  while (!levels_.empty()) {
    const Level level = levels_.front();
    std::pop_heap(levels_.begin(), levels_.end(), later);
    levels_.pop_back();
    if ((level.index & transfer_bit) != 0) {
      const std::uint32_t index = level.index & ~transfer_bit;
      if (!transfers_[index].frozen) freeze(index, level.rate);
      continue;
    }
    LinkState& link = links_[level.index];
    if (link.unfrozen == 0) continue;
    const double share = link.left / link.weight;
    if (share > level.rate) {
      push_level(share, level.index);
      continue;
    }
    for (const OnLink& on : link.transfers) {
      if (!transfers_[on.transfer].frozen) freeze(on.transfer, share);
    }
  }
}

void Transfers::apply(Transfer& transfer, std::uint32_t index, Time now) {
  transfer.visited = false;
  if (transfer.new_rate == transfer.rate) return;
  if (transfer.flow) {
    transfer.rate = transfer.new_rate;
    changed_flows_.push_back(index);
    return;
  }
  const double moved = transfer.rate * to_seconds(now - transfer.updated);
  transfer.left = std::max(0.0, transfer.left - moved);
  transfer.updated = now;
  transfer.rate = transfer.new_rate;
  transfer.end = now + round_up_seconds(transfer.left / transfer.rate);
  ends_.push(transfer.end, 0, index);
}

void Transfers::recompute_rates(Time now) {
  for (std::size_t i = 0; i < changed_links_.size(); ++i) {
    const std::uint32_t link = changed_links_[i];
    if (links_[link].visited) continue;
    collect(link);
    fill();
    for (const std::uint32_t index : group_transfers_) apply(transfers_[index], index, now);
    // Links stay marked until all changed ones are done: each belongs to one group.
    updated_links_.insert(updated_links_.end(), group_links_.begin(), group_links_.end());
  }
  for (const std::uint32_t link : updated_links_) {
    links_[link].changed = links_[link].visited = false;
  }
  updated_links_.clear();
  changed_links_.clear();
}

Time Transfers::next_end() {
  while (!ends_.empty()) {
    const EventQueue::Top top = ends_.peek();
    const Transfer& transfer = transfers_[top.payload];
    if (transfer.active && transfer.end == top.time) return top.time;
    ends_.pop();
  }
  return Time::max();
}

void Transfers::remove(std::uint32_t index) {
  Transfer& transfer = transfers_[index];
  transfer.active = false;
  transfer.end = Time::max();
  for (std::size_t i = 0; i < transfer.route.size(); ++i) {
    LinkState& state = links_[transfer.route[i].value()];
    const auto found = std::find_if(state.transfers.begin(),
                                    state.transfers.end(),
                                    [&](const OnLink& on) { return on.transfer == index; });
    *found = state.transfers.back();
    state.transfers.pop_back();
    // An empty link starts afresh: no rounding is carried from one message to the next.
    state.demand =
        state.transfers.empty() ? 0 : state.demand - transfer.limit * transfer.weights[i];
    mark(transfer.route[i]);
  }
  free_.push_back(index);
}

std::uint32_t Transfers::pop_end() {
  const std::uint32_t index = ends_.pop().payload;
  remove(index);
  return transfers_[index].payload;
}

double Transfers::rate_of(std::uint32_t payload) const {
  for (const Transfer& transfer : transfers_) {
    if (transfer.active && !transfer.flow && transfer.payload == payload) return transfer.rate;
  }
  return 0;
}

std::size_t Transfers::memory_bytes() const {
  std::size_t bytes = transfers_.capacity() * sizeof(Transfer) +
                      links_.capacity() * sizeof(LinkState) + ends_.memory_bytes() +
                      levels_.capacity() * sizeof(Level) +
                      (free_.capacity() + changed_links_.capacity() + changed_flows_.capacity() +
                       group_links_.capacity() + group_transfers_.capacity()) *
                          sizeof(std::uint32_t);
  for (const Transfer& transfer : transfers_) {
    bytes +=
        transfer.route.capacity() * sizeof(LinkId) + transfer.weights.capacity() * sizeof(double);
  }
  for (const LinkState& link : links_) bytes += link.transfers.capacity() * sizeof(OnLink);
  return bytes;
}

}  // namespace schedlab
