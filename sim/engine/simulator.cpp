// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulator.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/in_order.hpp"
#include "sim/engine/sharing/blocks.hpp"
#include "sim/engine/sharing/fluid.hpp"
#include "sim/engine/whole_engine.hpp"
#include "sim/plan/partitions.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace schedlab {
namespace {

bool has_unlimited_units(const Device& device) {
  return device.resident_kernels == 0 &&
         std::all_of(device.unit_classes.begin(),
                     device.unit_classes.end(),
                     [](const UnitClass& c) { return c.count == 0; });
}

/// Kernels of one stream follow upon each other, and alone each finds all the units it can hold.
bool has_one_stream_a_device(const Plan& plan) {
  if (!plan.graphs.empty()) return false;  // the nodes of a device graph may run side by side
  for (std::size_t i = 1; i < plan.streams.size(); ++i) {
    const auto same = [&](const StreamSpec& other) {
      return other.device == (plan.streams.begin() + static_cast<std::ptrdiff_t>(i))->device;
    };
    if (std::any_of(
            plan.streams.begin(), plan.streams.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      return false;
    }
  }
  return true;
}

/// The two engines find flows in different orders; traces are compared byte for byte.
void sort_flows(Trace& trace) {
  const auto before = [](const EventFlow& a, const EventFlow& b) {
    return std::tie(a.released, a.recorded, a.to, a.from, a.event) <
           std::tie(b.released, b.recorded, b.to, b.from, b.event);
  };
  // The event engine finds them by rising release: what is left are ties.
  auto first = trace.flows.begin();
  while (first != trace.flows.end()) {
    auto last = first + 1;
    while (last != trace.flows.end() && last->released == first->released) ++last;
    if (last != trace.flows.end() && last->released < first->released) break;
    if (last - first > 1) std::sort(first, last, before);
    first = last;
  }
  if (first != trace.flows.end()) std::sort(trace.flows.begin(), trace.flows.end(), before);
}

}  // namespace

class Simulator::Impl {
 public:
  void run(const Problem& problem,
           const Plan& plan,
           const SimulationOptions& options,
           Trace& trace) {
    expect_divided(problem.platform, plan.partitions);
    if (options.engine != EngineKind::event) {
      const bool applies = in_order_applies(problem, plan);
      SCHEDLAB_EXPECTS(
          applies || options.engine == EngineKind::automatic,
          "the in-order sweep needs one host thread, and unlimited units or one stream a device");
      if (applies) {
        sweep_.run_into(problem, plan, options, trace);
        return sort_flows(trace);
      }
    }
    PlanSource source{plan};
    run_events(problem, source, options, trace);
  }

  void record(const Problem& problem,
              OnlinePolicy& policy,
              const SimulationOptions& options,
              Recording& recording) {
    PolicySource source{policy, problem, recording.plan};
    auto* const workers = dynamic_cast<DispatchingPolicy*>(&policy);
    run_events(problem, source, options, recording.trace, workers);
    if (workers != nullptr) recording.plan = workers->decided();
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return scratch_.memory_bytes() + exclusive_.memory_bytes() + fluid_.memory_bytes() +
           blocks_.memory_bytes() + sweep_.memory_bytes();
  }

 private:
  template <class Source>
  void run_events(const Problem& problem,
                  Source& source,
                  const SimulationOptions& options,
                  Trace& trace,
                  DispatchingPolicy* workers = nullptr) {
    if (options.placements != nullptr) options.placements->clear();
    const auto run_with = [&](auto& sharing) {
      engine::EventEngine engine{problem, source, sharing, scratch_, options, trace};
      if constexpr (std::is_same_v<Source, PolicySource>) {
        if (workers != nullptr) return engine.run_dispatched(*workers);
      }
      engine.run();
    };
    switch (problem.platform.sharing) {
      case SharingModel::exclusive:
        run_with(exclusive_);
        break;
      case SharingModel::fluid:
        run_with(fluid_);
        break;
      case SharingModel::blocks:
        blocks_.log_to(options.placements);
        run_with(blocks_);
        break;
    }
    sort_flows(trace);
  }

  engine::Scratch scratch_;
  ExclusiveSharing exclusive_;
  FluidSharing fluid_;
  BlocksSharing blocks_;
  InOrderSweep sweep_;
};

Simulator::Simulator() : impl_(std::make_unique<Impl>()) {}
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;
Simulator::~Simulator() = default;

Trace Simulator::run(const Problem& problem, const Plan& plan, const SimulationOptions& options) {
  Trace trace;
  impl_->run(problem, plan, options, trace);
  return trace;
}

void Simulator::run_into(const Problem& problem,
                         const Plan& plan,
                         const SimulationOptions& options,
                         Trace& trace) {
  impl_->run(problem, plan, options, trace);
}

Simulator::Recording Simulator::record(const Problem& problem,
                                       OnlinePolicy& policy,
                                       const SimulationOptions& options) {
  Recording recording;
  impl_->record(problem, policy, options, recording);
  return recording;
}

void Simulator::record_into(const Problem& problem,
                            OnlinePolicy& policy,
                            const SimulationOptions& options,
                            Recording& recording) {
  impl_->record(problem, policy, options, recording);
}

std::size_t Simulator::memory_bytes() const {
  return impl_->memory_bytes();
}

bool in_order_applies(const Problem& problem, const Plan& plan) {
  return plan.hosts.size() == 1 && problem.graph.collectives().empty() &&
         !problem.costs.has_staging() && !problem.platform.host(HostId{0}).front_end_thread &&
         problem.platform.sharing == SharingModel::exclusive &&
         (has_one_stream_a_device(plan) || std::all_of(problem.platform.devices.begin(),
                                                       problem.platform.devices.end(),
                                                       has_unlimited_units));
}

Trace simulate(const Problem& problem, const Plan& plan, const SimulationOptions& options) {
  return Simulator{}.run(problem, plan, options);
}

}  // namespace schedlab
