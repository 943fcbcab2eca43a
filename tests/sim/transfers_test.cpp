// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/transfers.hpp"

#include "sim/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

using namespace schedlab;

namespace {

Network tree(double oversubscription = 1.0) {
  Network network;
  network.topology = Topology::fat_tree;
  network.node = {10_GB_per_s, 1us};
  network.leaf_ports = 4;
  network.leaf_oversubscription = oversubscription;
  return network;
}

class Scene {
 public:
  Scene(const Network& network, std::uint32_t ranks) { transfers_.reset(network, ranks); }

  void start(std::uint32_t name, std::uint32_t from, std::uint32_t to, Bytes bytes, Time now = {}) {
    std::vector<LinkId> route;
    transfers_.routes().route(from, to, route);
    transfers_.start(name, route, bytes, now);
    routes_[name] = route;
  }
  [[nodiscard]] double rate(std::uint32_t name) const { return transfers_.rate_of(name); }
  Transfers& transfers() { return transfers_; }
  [[nodiscard]] const std::map<std::uint32_t, std::vector<LinkId>>& routes() const {
    return routes_;
  }
  void forget(std::uint32_t name) { routes_.erase(name); }

 private:
  Transfers transfers_;
  std::map<std::uint32_t, std::vector<LinkId>> routes_;
};

/// Water-filling by its definition, in small steps of thought: raise all rates together; whoever
/// sits on a full link stops. Shares no code and no pruning with Transfers.
std::map<std::uint32_t, double> by_definition(
    const Routes& network, const std::map<std::uint32_t, std::vector<LinkId>>& routes) {
  std::map<std::uint32_t, double> rate;
  std::map<std::uint32_t, bool> stopped;
  while (true) {
    double raise = std::numeric_limits<double>::infinity();
    for (std::uint32_t link = 0; link < network.link_count(); ++link) {
      double used = 0;
      int rising = 0;
      for (const auto& [name, route] : routes) {
        if (std::find(route.begin(), route.end(), LinkId{link}) == route.end()) continue;
        used += rate[name];
        rising += stopped[name] ? 0 : 1;
      }
      if (rising == 0) continue;
      raise = std::min(raise, (network.bandwidth(LinkId{link}).count() - used) / rising);
    }
    if (std::isinf(raise)) return rate;
    for (const auto& [name, route] : routes) {
      if (!stopped[name]) rate[name] += raise;
    }
    for (std::uint32_t link = 0; link < network.link_count(); ++link) {
      double used = 0;
      for (const auto& [name, route] : routes) {
        if (std::find(route.begin(), route.end(), LinkId{link}) != route.end()) used += rate[name];
      }
      if (used < network.bandwidth(LinkId{link}).count() * (1 - 1e-12)) continue;
      for (const auto& [name, route] : routes) {
        if (std::find(route.begin(), route.end(), LinkId{link}) != route.end())
          stopped[name] = true;
      }
    }
  }
}

}  // namespace

TEST_CASE("a transfer alone lasts bytes over the narrowest link") {
  Scene scene{tree(), 8};
  scene.start(1, 0, 7, 1_MiB, Time{5us});
  CHECK(scene.transfers().rates_outdated());
  scene.transfers().recompute_rates(Time{5us});
  CHECK(scene.transfers().next_end() == Time{5us} + 1_MiB / 10_GB_per_s);
  CHECK(scene.transfers().pop_end() == 1);
  scene.transfers().recompute_rates(Time{200us});
  CHECK(scene.transfers().next_end() == Time::max());
  CHECK(scene.transfers().under_way() == 0);
}

TEST_CASE("two transfers into one rank halve, and the rest speeds up when the first has ended") {
  Scene scene{tree(), 8};
  scene.start(1, 0, 2, Bytes{100'000});
  scene.start(2, 1, 2, Bytes{300'000});
  scene.transfers().recompute_rates(Time{});
  CHECK(scene.rate(1) == 5e9);
  CHECK(scene.rate(2) == 5e9);
  // 100 kB at 5 GB/s: 20 us. Then 200 kB are left, at 10 GB/s another 20 us.
  CHECK(scene.transfers().next_end() == Time{20us});
  CHECK(scene.transfers().pop_end() == 1);
  scene.transfers().recompute_rates(Time{20us});
  CHECK(scene.rate(2) == 10e9);
  CHECK(scene.transfers().next_end() == Time{40us});
  CHECK(scene.transfers().pop_end() == 2);
}

TEST_CASE("what one transfer cannot use goes to the others on its link (max-min)") {
  // Ranks 0, 1 and 2 send up through a leaf that carries 40/4 = 10 GB/s; 0 and 1 go to rank 4,
  // 2 to rank 5; rank 6 also sends to rank 4, inside the second leaf.
  Scene scene{tree(4.0), 8};
  scene.start(0, 0, 4, 1_MiB);
  scene.start(1, 1, 4, 1_MiB);
  scene.start(2, 2, 5, 1_MiB);
  scene.start(6, 6, 4, 1_MiB);
  scene.transfers().recompute_rates(Time{});
  // The leaf gives each of three 10/3; rank 4's NIC of 10 has then 10/3 left for rank 6.
  for (const std::uint32_t name : {0U, 1U, 2U, 6U}) {
    CHECK(scene.rate(name) == doctest::Approx(1e10 / 3).epsilon(1e-12));
  }
  scene.start(3, 5, 4, 1_MiB);
  scene.transfers().recompute_rates(Time{});
  // Now four share rank 4's NIC, 2.5 each; the leaf's other 5 are rank 2's.
  for (const std::uint32_t name : {0U, 1U, 6U, 3U}) {
    CHECK(scene.rate(name) == doctest::Approx(2.5e9).epsilon(1e-12));
  }
  CHECK(scene.rate(2) == doctest::Approx(5e9).epsilon(1e-12));
}

TEST_CASE("rates equal water-filling by its definition, after every start and every end") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    Network network = tree(1.0 + static_cast<double>(rng.below(4)));
    network.ranks_per_node = 1 + static_cast<std::uint32_t>(rng.below(3));
    network.device = {25_GB_per_s, 100ns};
    network.pod_leaves = static_cast<std::uint32_t>(rng.below(3));
    if (rng.below(4) == 0) network.topology = Topology::ring;
    if (rng.below(4) == 0) {
      network.topology = Topology::mesh;
      network.mesh_columns = 3;
    }
    constexpr std::uint32_t ranks = 24;
    Scene scene{network, ranks};
    Time now{};
    std::uint32_t name = 0;
    for (int step = 0; step < 40; ++step) {
      const Time next = scene.transfers().next_end();
      if (scene.routes().size() > 12 || (rng.below(3) == 0 && next != Time::max())) {
        now = next;
        scene.forget(scene.transfers().pop_end());
      } else {
        const auto from = static_cast<std::uint32_t>(rng.below(ranks));
        const auto to = static_cast<std::uint32_t>((from + 1 + rng.below(ranks - 1)) % ranks);
        scene.start(
            name++, from, to, Bytes{static_cast<std::int64_t>(1 + rng.below(1'000'000))}, now);
      }
      scene.transfers().recompute_rates(now);
      const auto expected = by_definition(scene.transfers().routes(), scene.routes());
      for (const auto& [which, rate] : expected) {
        CAPTURE(which);
        CHECK(scene.rate(which) == doctest::Approx(rate).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("no byte is lost: the integral of the rate of each transfer is its size") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    Scene scene{tree(2.0), 16};
    std::map<std::uint32_t, double> left;
    Time now{};
    std::uint32_t started = 0;
    while (started < 40 || !left.empty()) {
      Time next = scene.transfers().next_end();
      const bool starts = started < 40 && (next == Time::max() || rng.below(2) == 0);
      const Time then =
          starts ? std::min(next, now + Duration{static_cast<std::int64_t>(rng.below(30'000'000))})
                 : next;
      for (auto& [name, bytes] : left) bytes -= scene.rate(name) * to_seconds(then - now);
      now = then;
      if (starts && now != next) {
        const auto from = static_cast<std::uint32_t>(rng.below(16));
        const auto bytes = static_cast<std::int64_t>(1 + rng.below(1'000'000));
        scene.start(started, from, (from + 5) % 16, Bytes{bytes}, now);
        left[started++] = static_cast<double>(bytes);
      } else if (next == now) {
        const std::uint32_t name = scene.transfers().pop_end();
        // Ends are rounded up to a picosecond: at 10 GB/s a hundredth of a byte each time.
        CHECK(std::abs(left[name]) < 0.5);
        left.erase(name);
      }
      scene.transfers().recompute_rates(now);
    }
  }
}

TEST_CASE("flows over several links get what raising all rates together gives them") {
  struct Flow {
    std::vector<LinkShare> uses;
    double limit = 0;  // bytes/s on the link of which it takes most
    double rate = 0;
    bool stopped = false;
  };
  const Routes network{tree(), 4};
  std::vector<LinkId> links;
  for (std::uint32_t rank = 0; rank < 4; ++rank) network.route(rank, (rank + 1) % 4, links);
  const double bandwidth = 10e9;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng{seed};
    Transfers transfers;
    transfers.reset(tree(), 4);
    std::vector<Flow> flows(1 + rng.below(5));
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
      for (const LinkId link : links) {
        const double share = 0.1 * static_cast<double>(rng.below(11));
        if (share == 0.0 || rng.below(2) == 0) continue;
        flows[i].uses.push_back({link, share});
        flows[i].limit = std::max(flows[i].limit, share * bandwidth);
      }
      if (flows[i].uses.empty()) flows[i] = {.uses = {{links[0], 0.5}}, .limit = 0.5 * bandwidth};
      static_cast<void>(transfers.start_flow(i, flows[i].uses, Time{}));
    }
    // On a link a flow takes its rate times what it takes there over what it takes most anywhere.
    const auto raises = [&](LinkId link, bool stopped) {
      double sum = 0;
      for (const Flow& flow : flows) {
        for (const LinkShare& use : flow.uses) {
          if (use.link != link) continue;
          const double weight = use.share * bandwidth / flow.limit;
          sum += stopped ? weight * flow.rate : (flow.stopped ? 0.0 : weight);
        }
      }
      return sum;
    };
    for (;;) {
      double raise = std::numeric_limits<double>::infinity();
      for (const Flow& flow : flows) {
        if (!flow.stopped) raise = std::min(raise, flow.limit - flow.rate);
      }
      if (raise == std::numeric_limits<double>::infinity()) break;
      for (const LinkId link : links) {
        const double rising = raises(link, false);
        if (rising > 0) raise = std::min(raise, (bandwidth - raises(link, true)) / rising);
      }
      for (Flow& flow : flows) flow.rate += flow.stopped ? 0.0 : std::max(0.0, raise);
      for (Flow& flow : flows) {
        flow.stopped = flow.stopped || flow.rate >= flow.limit * (1 - 1e-12);
        for (const LinkShare& use : flow.uses) {
          flow.stopped = flow.stopped || raises(use.link, true) >= bandwidth * (1 - 1e-12);
        }
      }
    }
    transfers.recompute_rates(Time{});
    std::vector<double> rates(flows.size(), 0.0);
    transfers.changed_flows([&](std::uint32_t flow, double rate) { rates[flow] = rate; });
    for (std::size_t i = 0; i < flows.size(); ++i) {
      CAPTURE(seed);
      CHECK(rates[i] == doctest::Approx(flows[i].rate / flows[i].limit).epsilon(1e-9));
    }
  }
}
