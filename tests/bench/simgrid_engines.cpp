// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/simgrid_engines.hpp"

#include "tests/bench/child_process.hpp"
#include "tests/bench/clock.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace schedlab::bench {
namespace {

namespace sg = simgrid::s4u;
constexpr std::uint32_t nil = 0xFFFFFFFFU;

/// One second of SimGrid is a picosecond of ours: its dates are then integers, which doubles hold.
class InOrder {
 public:
  InOrder(const BareGraph& graph, SimGridMode mode, const std::vector<sg::Host*>& hosts)
      : graph_(graph),
        timers_(mode == SimGridMode::timers),
        hosts_(hosts),
        open_(graph.predecessor_count),
        next_(graph.task_count(), nil),
        head_(graph.streams, nil),
        running_(graph.streams, nil),
        execs_(graph.streams),
        previous_(graph.streams) {
    std::vector<std::uint32_t> last(graph.streams, nil);
    for (std::uint32_t i = 0; i < graph.task_count(); ++i) {
      const std::uint32_t s = graph.stream[i];
      (last[s] == nil ? head_[s] : next_[last[s]]) = i;
      last[s] = i;
    }
  }

  void start_sources() {
    for (std::uint32_t s = 0; s < graph_.streams; ++s) start_head(s);
  }
  void complete(std::uint32_t s) {
    const std::uint32_t i = running_[s];
    running_[s] = nil;
    ++run_.done;
    run_.makespan = std::llround(sg::Engine::get_clock());
    for (std::uint32_t e = graph_.offset[i]; e < graph_.offset[i + 1]; ++e) {
      const std::uint32_t j = graph_.successors[e];
      if (--open_[j] == 0 && graph_.stream[j] != s && head_[graph_.stream[j]] == j) {
        start_head(graph_.stream[j]);
      }
    }
    start_head(s);
  }
  [[nodiscard]] BareRun run() const { return run_; }

 private:
  void start_head(std::uint32_t s) {
    const std::uint32_t i = head_[s];
    if (i == nil || running_[s] != nil || open_[i] != 0) return;
    running_[s] = i;
    head_[s] = next_[i];
    const auto work = static_cast<double>(graph_.duration[i]);
    if (timers_) {
      simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + work,
                                         [this, s] { complete(s); });
      return;
    }
    const auto exec = sg::Exec::init();
    exec->set_flops_amount(work)->set_host(hosts_[s]);
    exec->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(s)));
    previous_[s] = execs_[s];  // its completion is being signalled: it must live until that is over
    execs_[s] = exec;
    exec->vetoable_start();
  }

  const BareGraph& graph_;
  bool timers_;
  const std::vector<sg::Host*>& hosts_;
  std::vector<std::uint8_t> open_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> head_;
  std::vector<std::uint32_t> running_;
  std::vector<sg::ExecPtr> execs_;
  std::vector<sg::ExecPtr> previous_;
  BareRun run_;
};

SimGridRun run_here(const BareGraph& graph, SimGridMode mode) {
  std::string program = "bench";
  std::string quiet = "--log=root.thresh:error";
  std::string model = "--cfg=cpu/optim:TI";
  std::array<char*, 4> arguments{program.data(), quiet.data(), model.data(), nullptr};
  int count = 3;
  sg::Engine engine(&count, arguments.data());
  auto* zone = sg::create_star_zone("device");
  std::vector<sg::Host*> hosts;
  for (std::uint32_t s = 0; s < graph.streams; ++s) {
    hosts.push_back(zone->create_host(std::to_string(s), 1.0)->seal());
  }
  zone->seal();

  const double begun = processor_seconds();
  InOrder run(graph, mode, hosts);
  if (mode == SimGridMode::timers) {
    // Without an actor the engine would end at once; no schedule is longer than the serial one.
    const double serial = std::accumulate(graph.duration.begin(), graph.duration.end(), 0.0) + 1.0;
    sg::Actor::create("keep", hosts[0], [serial] { sg::this_actor::sleep_for(serial); });
  } else {
    sg::Activity::on_completion_cb([&run](const sg::Activity& activity) {
      const auto& exec = static_cast<const sg::Exec&>(activity);
      run.complete(
          static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(exec.get_data<void>())));
    });
  }
  run.start_sources();
  engine.run();
  return {run.run(), processor_seconds() - begun};
}

}  // namespace

bool simgrid_is_there() {
  return true;
}

SimGridRun simgrid_in_order(const BareGraph& graph, SimGridMode mode) {
  return in_child([&] { return run_here(graph, mode); });
}

}  // namespace schedlab::bench
