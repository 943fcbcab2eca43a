// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/host_range.hpp"

#include "hw_models/host_spec.hpp"
#include "sim/engine/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr double busy_host = 0.9;      // of the time: the device waits for it
constexpr double worth_saying = 0.01;  // of the makespan

/// The host by name whose cost is published; nullptr, too, where the launch mode leaves some of it
/// out.
const HostSpec* published_host(const MachineSpec& machine) {
  // Few machines have one, and looking for it takes time in large sweeps.
  const Duration front_end = machine.platform.host(HostId{0}).costs.front_end;
  if (front_end == Duration{0}) return nullptr;
  const HostSpec* host = host_in_use(machine);
  if (host == nullptr || !host->operator_cost) return nullptr;
  const bool whole =
      std::any_of(host->numbers.begin(), host->numbers.end(), [&](const NumberSource& number) {
        return number.pointer == "/host/front_end_us" && from_us(number.value) == front_end;
      });
  return whole ? host : nullptr;
}

double operator_us(const MachineSpec& machine) {
  const Host& host = machine.platform.host(HostId{0});
  return to_us(host.costs.preparation() + host.costs.launch * std::int64_t{host.operator_tasks});
}

}  // namespace

std::optional<HostRange> host_range(const FullRun& run) {
  const MachineSpec& machine = *run.scenario.problem->machine;
  const HostSpec* host = published_host(machine);
  if (host == nullptr) return std::nullopt;
  HostRange range{.host = host->name,
                  .operator_us = operator_us(machine),
                  .min_us = host->operator_cost->min_us,
                  .max_us = host->operator_cost->max_us};
  const SimulatedProblem what = run.simulated();
  Simulator simulator;
  Trace trace;
  const auto makespan = [&](double cost_us) {
    const Problem& problem = what.problem;
    Platform platform = problem.platform;
    for (Host& each : platform.hosts) each = with_operator_cost(each, cost_us);
    const Problem varied{problem.graph, platform, problem.costs};
    run_by_kernel(simulator, what.steps, varied, run.plan, {}, trace);
    return trace.makespan();
  };
  range.shortest = makespan(range.min_us);
  range.longest = makespan(range.max_us);
  const double apart = to_us(range.longest - range.shortest);
  if (apart < worth_saying * to_us(run.trace.makespan())) return std::nullopt;
  return range;
}

std::string to_text(const HostRange& range) {
  return fmt::format(
      "host {} at {:.1f} us an operator; published are {} to {} us, with which the makespan is "
      "{:.3f} to {:.3f} us",
      range.host,
      range.operator_us,
      range.min_us,
      range.max_us,
      to_us(range.shortest),
      to_us(range.longest));
}

std::string host_note(const MachineSpec& machine, double host_busy_share) {
  if (host_busy_share < busy_host) return {};
  const HostSpec* host = published_host(machine);
  if (host == nullptr) return {};
  return fmt::format("the host decides: {} at {:.1f} us an operator; published are {} to {} us",
                     host->name,
                     operator_us(machine),
                     host->operator_cost->min_us,
                     host->operator_cost->max_us);
}

}  // namespace schedlab
