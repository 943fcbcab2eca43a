// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/machine/network.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// The bytes under way on the links of a network. Each transfer moves at one rate over its whole
/// route, and each flow (a collective) takes of all its links in proportion to one rate; links are
/// shared max-min fairly among the transfers on them (progressive filling: Bertsekas and Gallager,
/// Data Networks, 1992, 6.5.2).
///
/// A link that could carry all its transfers at the most that each can reach elsewhere never
/// bounds anybody: it is left out, so a change costs no more than the transfers that are coupled
/// to it by links which do bound. Transfers whose rate does not change keep the end they have: one
/// alone lasts bytes / bandwidth, to the picosecond.
class Transfers {
 public:
  void reset(const Network& network, std::uint32_t ranks);

  /// Starts to move `bytes` over a route that is not empty; `payload` names it. Rates are made
  /// by recompute_rates(), so that what starts at one instant costs one update.
  void start(std::uint32_t payload, std::span<const LinkId> route, Bytes bytes, Time now);
  [[nodiscard]] bool rates_outdated() const { return !changed_links_.empty(); }
  void recompute_rates(Time now);
  /// Time::max() if nothing is under way. Valid when rates are not outdated.
  [[nodiscard]] Time next_end();

  /// Begins what lasts until stop_flow() and takes `uses`, not empty, at its full rate. Counts as
  /// one transfer on the link of which it takes most. Returns its number.
  std::uint32_t start_flow(std::uint32_t payload, std::span<const LinkShare> uses, Time now);
  void stop_flow(std::uint32_t flow) { remove(flow); }
  /// changed(payload, rate), as a share of the full rate, for every flow whose rate is new; at
  /// once after recompute_rates().
  template <class Changed>
  void changed_flows(Changed&& changed) {
    for (const std::uint32_t index : changed_flows_) {
      const Transfer& flow = transfers_[index];
      changed(flow.payload, flow.rate / flow.limit);
    }
    changed_flows_.clear();
  }

  /// The payload of a transfer that ends at next_end(); its links are free at once.
  std::uint32_t pop_end();

  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] std::size_t under_way() const { return transfers_.size() - free_.size(); }
  /// Bytes per second, after recompute_rates(); 0 if nothing with this payload is under way. Linear
  /// search.
  [[nodiscard]] double rate_of(std::uint32_t payload) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Transfer {
    std::uint32_t payload = 0;
    bool active = false;
    bool flow = false;     // has no end of its own
    bool visited = false;  // collected by the present update
    bool frozen = false;   // has its new rate
    double limit = 0;      // bytes/s: the narrowest link of its route
    double rate = 0;       // bytes/s, present
    double new_rate = 0;
    double left = 0;  // bytes at `updated`
    Time updated{};
    Time end = Time::max();
    std::vector<LinkId> route;
    std::vector<double> weights;  // by link of the route: taken for each byte/s of the rate
  };
  struct OnLink {
    std::uint32_t transfer = 0;
    double weight = 1;
  };
  struct LinkState {
    double bandwidth = 0;
    double demand = 0;  // sum of its transfers' limits, weighted
    std::vector<OnLink> transfers;
    bool changed = false;
    bool visited = false;
    // Of the present update.
    double left = 0;
    std::uint32_t unfrozen = 0;
    double weight = 0;  // of those
  };
  struct Level {
    double rate = 0;
    std::uint32_t index = 0;  // of a link, or of a transfer | transfer_bit
  };
  static constexpr std::uint32_t transfer_bit = 1U << 31U;

  [[nodiscard]] static bool bounds(const LinkState& link) {
    return link.demand > link.bandwidth * (1.0 + 1e-9);
  }
  std::uint32_t add(std::uint32_t payload, Time now);
  void enter_links(std::uint32_t index);
  void remove(std::uint32_t index);
  void mark(LinkId link);
  void collect(std::uint32_t link);
  void fill();
  void freeze(std::uint32_t transfer, double rate);
  void push_level(double rate, std::uint32_t index);
  void apply(Transfer& transfer, std::uint32_t index, Time now);

  Routes routes_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> changed_links_;
  std::vector<std::uint32_t> changed_flows_;
  std::vector<std::uint32_t> group_links_;      // scratch of recompute_rates()
  std::vector<std::uint32_t> group_transfers_;  // likewise
  std::vector<std::uint32_t> updated_links_;    // of all groups of one update
  std::vector<Level> levels_;                   // heap by rate
  EventQueue ends_;
};

}  // namespace schedlab
