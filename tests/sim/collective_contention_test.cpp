// SPDX-License-Identifier: Apache-2.0
// Collectives that slow down by what kernels, messages and each other leave them.
#include "sim/base/rng.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/trace/critical_path.hpp"
#include "tests/support/ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace schedlab;
using testing::RankScene;

namespace {

constexpr std::array all_models{SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks};
constexpr std::array bandwidth_models{SharingModel::fluid, SharingModel::blocks};

/// Ranks with 100 GB/s of memory; a task wants its share of it, a collective twice that.
struct ContentionScene : RankScene {
  explicit ContentionScene(std::uint32_t ranks,
                           SharingModel sharing = SharingModel::fluid,
                           std::uint32_t units = 0)
      : RankScene(ranks, sharing, units) {
    platform.devices[DeviceId{0}].rates.memory = 100_GB_per_s;
    full_bandwidth = 100_GB_per_s;
    collective_bandwidth = 200_GB_per_s;
    platform.network.topology = Topology::ring;
    platform.network.node = {10_GB_per_s, 1us};
    platform.network.collectives.contend = true;
    const Routes routes{platform.network, ranks};
    routes.route(0, 1, links);
    routes.route(1, 0, links);
  }

  std::vector<LinkId> links{};  ///< from rank 0 to 1, and back
};

/// Equal but for what rounding rates down costs.
void check_near(Duration time, Duration expected) {
  CAPTURE(to_us(time));
  CAPTURE(to_us(expected));
  CHECK(std::abs((time - expected).count()) <= 1 + expected.count() / 100'000'000);
}

}  // namespace

TEST_CASE(
    "a collective alone lasts its duration to the picosecond, whether or not it may contend") {
  Rng rng{7};
  for (const SharingModel sharing : all_models) {
    for (int i = 0; i < 50; ++i) {
      ContentionScene scene{2U + static_cast<std::uint32_t>(rng.below(5)), sharing, 7};
      const Duration lasts{1 + static_cast<std::int64_t>(rng.below(100'000'000'000))};
      const double share = static_cast<double>(1 + rng.below(7)) / 7;
      const auto parts =
          scene.collective(lasts, share, {{scene.links[0], 1.0}, {scene.links[1], 0.3}});
      for (std::uint32_t rank = 0; rank < parts.size(); ++rank) scene.launch(rank, 0, parts[rank]);
      const Trace trace = scene.run();
      for (const TaskId part : parts) CHECK(scene.span(trace, part).duration() == lasts);
      scene.platform.network.collectives.contend = false;
      CHECK(scene.run().tasks == trace.tasks);
    }
  }
}

TEST_CASE("kernels beside a collective take of its bandwidth, and it slows down with them") {
  // With a factor kernels share by rules of their own, of units without limit as before.
  for (const double factor : {1.0, 0.9}) {
    for (const SharingModel sharing : bandwidth_models) {
      ContentionScene scene{2, sharing};
      scene.platform.devices[DeviceId{0}].co_residency_factor = factor;
      const auto parts = scene.collective(20us, 0.25);
      scene.launch(0, 0, parts[0]);
      scene.launch(1, 0, parts[1]);
      const TaskId first = scene.task(0, 10us, 0.6);
      const TaskId second = scene.task(0, 10us, 0.6);
      scene.launch(0, 1, first);
      scene.launch(0, 2, second);
      const Trace trace = scene.run();
      // Kernels want 60 and 60 GB/s, the collective 50: it gets 25, as its units are a quarter of
      // all, on both ranks half of what it does alone, until the kernels with 37.5 each have ended.
      check_near(scene.span(trace, first).duration(), 16us);
      check_near(scene.span(trace, second).duration(), 16us);
      for (const TaskId part : parts) check_near(scene.span(trace, part).duration(), 28us);
      const CostTable costs = scene.costs();
      const auto path = trace_critical_path({scene.graph(), scene.platform, costs}, trace);
      check_near(path.slowed, 8us);
      // Where it does not contend its time is its own, and the kernels' is the same until it ends.
      scene.platform.network.collectives.contend = false;
      const Trace fixed = scene.run();
      CHECK(scene.span(fixed, parts[0]).duration() == 20us);
    }
  }
}

TEST_CASE("all parts of a collective advance at the rate of the slowest at each moment") {
  for (const SharingModel sharing : bandwidth_models) {
    ContentionScene scene{2, sharing};
    const auto parts = scene.collective(40us, 0.25);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      scene.launch(rank, 0, parts[rank]);
      for (const std::uint32_t stream : {1U, 2U}) {
        if (rank == 1) scene.launch(1, stream, scene.task(1, 16us, 0.001));  // idles
        scene.launch(rank, stream, scene.task(rank, 10us, 0.6));
      }
    }
    const Trace trace = scene.run();
    // Rank 0 holds it up for 16 us, rank 1 for the next 16: 16 us of work are done by then.
    for (const TaskId part : parts) check_near(scene.span(trace, part).duration(), 56us);
  }
}

TEST_CASE("collectives in device graphs contend as those in streams do") {
  for (const SharingModel sharing : bandwidth_models) {
    ContentionScene scene{2, sharing};
    const auto parts = scene.collective(20us, 0.25);
    for (std::uint32_t rank = 0; rank < 2; ++rank) scene.launch(rank, 0, parts[rank]);
    for (const std::uint32_t stream : {1U, 2U}) {
      scene.launch(0, stream, scene.task(0, 10us, 0.6));
    }
    scene.plan = capture_graphs(scene.plan);
    const Trace trace = scene.run();
    for (const TaskId part : parts) check_near(scene.span(trace, part).duration(), 28us);
  }
}

TEST_CASE("collectives that share a link share its bandwidth, in every model") {
  for (const SharingModel sharing : all_models) {
    ContentionScene scene{2, sharing};
    const auto first =
        scene.collective(10us, 0.001, {{scene.links[0], 0.8}, {scene.links[1], 0.4}});
    const auto second = scene.collective(20us, 0.001, {{scene.links[0], 0.8}});
    const auto third = scene.collective(15us, 0.001, {{scene.links[1], 0.6}});
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      scene.launch(rank, 0, first[rank]);
      scene.launch(rank, 1, second[rank]);
      scene.launch(rank, 2, third[rank]);
    }
    const Trace trace = scene.run();
    // Half of link 0 each instead of 0.8: the first takes 16 us, in which the second does 10.
    check_near(scene.span(trace, first[0]).duration(), 16us);
    check_near(scene.span(trace, second[0]).duration(), 26us);
    CHECK(scene.span(trace, third[0]).duration() == 15us);
  }
}

TEST_CASE("a message and a collective on one link slow each other down") {
  ContentionScene scene{2, SharingModel::exclusive};
  REQUIRE(scene.links.size() == 2);
  const auto parts = scene.collective(40us, 0.001, {{scene.links[0], 0.8}});
  for (std::uint32_t rank = 0; rank < 2; ++rank) scene.launch(rank, 0, parts[rank]);
  scene.platform.network.eager_threshold = 1_MiB;
  const std::uint32_t id = scene.message(0, 1, Bytes{100'000});  // 10 us alone
  scene.call(0, HostCall::send(id));
  scene.call(1, HostCall::receive(id));
  SimulationOptions options;
  options.record_flows = true;
  const Trace trace = scene.run(options);
  // Half of the link each: the message leaves in 20 us, in which the collective does 12.5.
  REQUIRE(trace.messages.size() == 1);
  check_near(trace.messages[0].arrived - trace.messages[0].left, 21us);
  check_near(scene.span(trace, parts[0]).duration(), 47'500ns);
}

namespace {

/// What runs from the start to its end: a kernel on one rank, or a collective on all.
struct OracleWork {
  double demand = 0;  ///< of the memory bandwidth of each of its ranks
  double share = 0;   ///< of their units, of a collective
  double link = 0;    ///< of the only link
  double left = 0;    ///< us
  std::vector<std::uint32_t> ranks{};
  double ended = -1;
};

/// Max-min shares of `left` by their definition.
std::vector<double> fair_shares(const std::vector<double>& wanted, double left) {
  std::vector<double> given(wanted.size(), 0.0);
  std::vector<bool> done(wanted.size(), false);
  for (;;) {
    double open = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (done[i]) continue;
      ++open;
      least = std::min(least, wanted[i]);
    }
    if (open == 0) return given;
    const bool enough = least < left / open;
    const double level = enough ? least : left / open;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (done[i] || (enough && wanted[i] > level)) continue;
      given[i] = level;
      done[i] = true;
      left -= level;
    }
  }
}

/// From event to event, in floating point; shares no code with the engine.
void run_oracle(std::vector<OracleWork>& works, std::uint32_t ranks) {
  double now = 0;
  for (;;) {
    std::vector<double> rates(works.size(), 1.0);
    const auto share_out = [&](double whole, auto&& takes) {
      std::vector<std::size_t> who;
      std::vector<double> wanted;
      for (std::size_t i = 0; i < works.size(); ++i) {
        const double demand = works[i].ended < 0 ? takes(works[i]) : 0.0;
        if (demand <= 0) continue;
        who.push_back(i);
        wanted.push_back(demand);
      }
      const std::vector<double> given = fair_shares(wanted, whole);
      for (std::size_t i = 0; i < who.size(); ++i) {
        rates[who[i]] = std::min(rates[who[i]], given[i] / wanted[i]);
      }
    };
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto here = [&](const OracleWork& work) {
        return work.ended < 0 &&
               std::find(work.ranks.begin(), work.ranks.end(), rank) != work.ranks.end();
      };
      double wanted = 0;  // by collectives
      double guaranteed = 0;
      double others = 0;
      for (const OracleWork& work : works) {
        if (!here(work)) continue;
        (work.share > 0 ? wanted : others) += work.demand;
        guaranteed += work.share;
      }
      const double given = std::min(wanted, std::max(guaranteed, 1 - others));
      for (std::size_t i = 0; i < works.size(); ++i) {
        if (here(works[i]) && works[i].share > 0) rates[i] = std::min(rates[i], given / wanted);
      }
      share_out(1 - given, [&](const OracleWork& work) {
        return here(work) && work.share == 0 ? work.demand : 0.0;
      });
    }
    share_out(1.0, [](const OracleWork& work) { return work.link; });
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i].ended < 0) step = std::min(step, works[i].left / rates[i]);
    }
    if (step == std::numeric_limits<double>::infinity()) return;
    now += step;
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i].ended >= 0) continue;
      works[i].left -= step * rates[i];
      if (works[i].left < 1e-9) works[i].ended = now;
    }
  }
}

}  // namespace

TEST_CASE("kernels and collectives of random sizes end when the rules say") {
  constexpr std::uint32_t ranks = 3;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Rng rng{seed};
    const auto number = [&](double most) {
      return most * static_cast<double>(1 + rng.below(1000)) / 1000;
    };
    for (const SharingModel sharing : bandwidth_models) {
      Rng again{rng};
      ContentionScene scene{ranks, sharing};
      std::vector<OracleWork> works;
      std::vector<TaskId> tasks;
      for (const std::uint32_t stream : {0U, 1U}) {
        OracleWork work{
            .share = number(0.45), .link = number(0.9), .left = std::round(number(1e5)) / 1e3};
        work.demand = 2 * work.share;
        const auto parts =
            scene.collective(from_us(work.left), work.share, {{scene.links[0], work.link}});
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          scene.launch(rank, stream, parts[rank]);
          work.ranks.push_back(rank);
        }
        tasks.push_back(parts[0]);
        works.push_back(work);
      }
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        OracleWork work{
            .demand = number(1.0), .left = std::round(number(1e5)) / 1e3, .ranks = {rank}};
        tasks.push_back(scene.task(rank, from_us(work.left), work.demand));
        scene.launch(rank, 2, tasks.back());
        works.push_back(work);
      }
      rng = again;
      run_oracle(works, ranks);
      const Trace trace = scene.run();
      for (std::size_t i = 0; i < works.size(); ++i) {
        CAPTURE(seed);
        CAPTURE(i);
        CHECK(to_us(scene.span(trace, tasks[i]).duration()) ==
              doctest::Approx(works[i].ended).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("how often anybody looks changes nothing where collectives contend") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto tasks_of = [seed](bool looks) {
      Rng rng{seed};
      ContentionScene scene{2, SharingModel::fluid, 4};
      for (int i = 0; i < 8; ++i) {
        const auto stream = static_cast<std::uint32_t>(rng.below(2));
        const auto lasts = [&] {
          return Duration{1 + static_cast<std::int64_t>(rng.below(30'000'000))};
        };
        const auto parts = scene.collective(lasts(), 0.25, {{scene.links[0], 0.7}});
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
          scene.launch(rank, stream, parts[rank]);
          for (const std::uint32_t other : {1 - stream, 2U}) {
            const double share = 0.25 * static_cast<double>(1 + rng.below(4));
            scene.launch(rank, other, scene.task(rank, lasts(), share));
          }
        }
      }
      for (int i = 0; looks && i < 500; ++i) {
        scene.call(0, HostCall::sleep_ns(1 + static_cast<std::uint32_t>(rng.below(900))));
      }
      Trace trace = scene.run();
      std::sort(trace.tasks.begin(), trace.tasks.end(), [](const TaskSpan& a, const TaskSpan& b) {
        return a.task < b.task;
      });
      return trace.tasks;
    };
    CAPTURE(seed);
    CHECK(tasks_of(true) == tasks_of(false));
  }
}

TEST_CASE("bounds hold where collectives contend, and are those of collectives alone") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng{seed};
    ContentionScene scene{2, bandwidth_models[seed % 2], 4};
    for (int i = 0; i < 6; ++i) {
      const auto stream = static_cast<std::uint32_t>(rng.below(2));
      const Duration lasts{1'000'000 + static_cast<std::int64_t>(rng.below(30'000'000))};
      const auto parts = scene.collective(lasts, 0.25, {{scene.links[0], 0.7}});
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        scene.launch(rank, stream, parts[rank]);
        scene.launch(
            rank, 2, scene.task(rank, lasts, 0.25 * static_cast<double>(1 + rng.below(3))));
      }
    }
    const auto bound = [&] {
      const TaskGraph& graph = scene.graph();
      const CostTable costs = scene.costs();
      Duration best{0};
      for (const BoundWitness& one : bound_ladder({.problem = {graph, scene.platform, costs}})) {
        best = std::max(best, one.bound);
      }
      return best;
    };
    const Duration with = bound();
    CHECK(with > Duration{0});
    CHECK(scene.run().makespan() >= with);
    scene.platform.network.collectives.contend = false;
    CHECK(bound() == with);
  }
}
