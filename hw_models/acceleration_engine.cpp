// SPDX-License-Identifier: Apache-2.0
#include "hw_models/acceleration_engine.hpp"

#include "hw_models/kernel_cost.hpp"

#include <algorithm>

namespace schedlab {
namespace {

/// How many of the units that an operator could run on it runs on.
struct Groups {
  double used = 1;
  double share = 1;  ///< of all
};

Groups groups_of(const Operation& operation, const Device& device) {
  const UnitClassId id = device.unit_class_of[static_cast<std::size_t>(operation.kind)];
  const std::int64_t all = id.valid() ? device.unit_classes[id].count : 0;
  if (all == 0) return {};
  const auto used = static_cast<double>(spread_units(all, device));
  return {.used = used, .share = used / static_cast<double>(all)};
}

/// Of the slowest kernel type in the operation's group of cores.
double array_seconds(const Operation& operation, const Device& device, const Groups& groups) {
  const EngineWork work = engine_work(operation);
  double compute = 0;
  for (const Kernel& kernel : operation.kernels) {
    if (kernel.flops <= Flops{0.0}) continue;
    compute += kernel.flops.count() / (peak_rate(kernel, device).count() * groups.share);
  }
  double bandwidth = reachable_bandwidth(device).count();
  if (device.rates.unit_bandwidth > Bandwidth{0.0}) {
    bandwidth = std::min(
        bandwidth,
        device.rates.unit_bandwidth.count() * device.rates.memory_efficiency * groups.used);
  }
  return std::max(compute, work.moved_bytes / bandwidth);
}

Estimate made_of(double seconds, double share, double bytes, Bound bound) {
  Estimate estimate{
      .duration = bounded_seconds(seconds), .share = share, .bandwidth = {}, .bound = bound};
  if (seconds > 0) estimate.bandwidth = Bandwidth{bytes / seconds};
  return estimate;
}

}  // namespace

std::string_view to_string(Processor processor) {
  return processor == Processor::array ? "array" : "management_core";
}

CostTerms cost_terms(Processor processor, EngineClass engine_class) {
  switch (engine_class) {
    case EngineClass::conv_forward:
    case EngineClass::conv_weight_gradient:
    case EngineClass::conv_data_gradient:
    case EngineClass::matmul:
      if (processor == Processor::management_core) return {.flops = true};
      return {.bytes = true};
    case EngineClass::activation:
      return {.bytes = true};
    case EngineClass::pooling:
      return {.flops = true};
    case EngineClass::update:
    case EngineClass::data_split:
      break;
  }
  return {.operators = true, .bytes = true};
}

Estimate AccelerationEngine::estimate(const Operation& operation, const Device& device) const {
  if (has_only_a_duration(operation)) return fixed_cost(operation, device);
  Estimate estimate = without_framework(operation, device);
  const double alone = to_seconds(estimate.duration);
  estimate.duration += options_.framework;
  if (alone > 0) {
    estimate.bandwidth =
        Bandwidth{estimate.bandwidth.count() * alone / to_seconds(estimate.duration)};
  }
  return estimate;
}

Estimate AccelerationEngine::without_framework(const Operation& operation,
                                               const Device& device) const {
  for (const Kernel& kernel : operation.kernels) refuse_unmodelled(kernel, operation);
  if (is_host_copy(operation.kind)) {
    KernelSum sum{operation, device, device.stream_gap};
    for (const Kernel& kernel : operation.kernels) {
      sum.add(kernel, host_copy_cost(kernel, device));
    }
    return sum.total();
  }
  const Processor where = processor(operation);
  const Groups groups = groups_of(operation, device);
  const EngineWork work = engine_work(operation);
  const auto bytes =
      static_cast<double>((operation.bytes_read() + operation.bytes_written()).count());
  const ClassCost& cost = options_.costs.cost(where, engine_class(operation));
  if (where == Processor::management_core) {
    const double seconds = cost.known() ? cost.seconds(work)
                                        : work.flops / options_.management_flop_per_s +
                                              bytes / options_.management_bytes_per_s;
    return made_of(seconds, groups.share / groups.used, bytes, Bound::compute);
  }
  if (cost.known()) {
    return made_of(cost.seconds(work) / groups.used, groups.share, bytes, Bound::memory);
  }
  const double seconds = array_seconds(operation, device, groups);
  Estimate estimate =
      made_of(seconds + to_seconds(device.kernel_floor), groups.share, bytes, Bound::memory);
  if (seconds <= to_seconds(device.kernel_floor)) estimate.bound = Bound::latency;
  return estimate;
}

}  // namespace schedlab
