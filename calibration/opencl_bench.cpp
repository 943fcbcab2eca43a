// SPDX-License-Identifier: Apache-2.0
#include "calibration/opencl_bench.hpp"

#include "calibration/device_calibration.hpp"
#include "calibration/simulated_device_bench.hpp"
#include "real_exec/executor/execution.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/wall_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace schedlab {
namespace {

std::size_t index_of(TaskKind kind) {
  return static_cast<std::size_t>(kind);
}

/// Rates and bandwidth that the units have together, for another number of them.
MachineSpec with_units(MachineSpec machine, const std::string& units, double count) {
  const auto known = std::find_if(machine.sources.begin(),
                                  machine.sources.end(),
                                  [&](const NumberSource& one) { return one.pointer == units; });
  if (known == machine.sources.end() || known->value <= 0) return machine;
  const double share = count / known->value;
  const double before = known->value;
  for (NumberSource& one : machine.sources) {
    const bool together = one.pointer.starts_with("/device/matrix_tflop_per_s/") ||
                          one.pointer.starts_with("/device/vector_tflop_per_s/") ||
                          one.pointer == "/device/memory_bandwidth_gb_per_s";
    if (!together) continue;
    one.value *= share;
    one.origin = Origin::assumed;
    one.text = fmt::format("of {:g} units what {} has with {:g}", count, machine.name, before);
  }
  return with_number(std::move(machine),
                     {.pointer = units,
                      .value = count,
                      .origin = Origin::source,
                      .text = "compute units, as the driver says"});
}

/// What the driver says in place of the number of units; and copies between host and device, where
/// the machine has none: a device among the processor's cores has them, as kernels of its cores.
MachineSpec believed(MachineSpec machine, const OpenClDeviceFacts& device) {
  constexpr double copied_gb_per_s = 10;  // assumed, until the calibration has measured it
  std::erase_if(machine.sources, [](const NumberSource& one) {
    return one.pointer.starts_with("/device/clblast/");  // of another calibration
  });
  Device& changed = machine.platform.devices[DeviceId{0}];
  if (changed.unit_classes.size() != 1) return machine;
  const UnitClassId units{0};
  const std::string name = changed.unit_classes[units].name;
  const bool copies = changed.unit_class_of[index_of(TaskKind::copy_host_to_device)].valid();
  for (const TaskKind kind : {TaskKind::copy_host_to_device, TaskKind::copy_device_to_host}) {
    changed.unit_class_of[index_of(kind)] = units;
  }
  machine = with_units(std::move(machine), "/device/unit_classes/" + name, device.units);
  if (changed.rates.l2 == Bytes{0} && device.cache > Bytes{0}) {
    constexpr double mib = 1 << 20;
    machine = with_number(std::move(machine),
                          {.pointer = "/device/l2_mib",
                           .value = static_cast<double>(device.cache.count()) / mib,
                           .origin = Origin::source,
                           .text = "cache of global memory, as the driver says"});
  }
  for (const char* way : {"host_to_device", "device_to_host"}) {
    if (copies) break;
    machine = with_number(std::move(machine),
                          {.pointer = fmt::format("/device/{}_gb_per_s", way),
                           .value = copied_gb_per_s,
                           .origin = Origin::assumed,
                           .text = "a copy within the memory of the host"});
  }
  const std::string file = machine.name;
  return read_machine(write_machine(machine), file);
}

OpenClDeviceFacts in_groups(OpenClDeviceFacts device, std::uint32_t group_units) {
  if (group_units > 0) device.units /= group_units;
  return device;
}

}  // namespace

OpenClBench::OpenClBench(const OpenClExecutorOptions& options, const std::string& base)
    : executor_(options),
      facts_(in_groups(executor_.facts(), options.group_units)),
      split_(options.group_units > 0),
      base_(believed(base_machine(executor_.properties().name, base), facts_)),
      platform_(with_spinning_units(base_.platform)) {}

DeviceFacts OpenClBench::facts() const {
  const OpenClDeviceFacts& device = facts_;
  constexpr std::size_t day = 10;  // characters of 2026-11-21
  return {.name = device.name,
          .software = fmt::format(
              "{}, driver {}, products by {}", device.platform, device.driver, products_),
          .date = now_utc().substr(0, day),
          .units = device.units,
          .priority_levels = device.priorities ? 3U : 1U,
          .kind = "opencl",
          .device_graphs = false,  // none with products
          .unit_kernels = split_,
          .types = {DataType::fp32}};
}

std::vector<NumberSource> OpenClBench::tune(bool quick, const RuleProgress& progress) {
  const std::vector<TunedKernel> tuned =
      tune_products(executor_, quick, [&](std::size_t done, std::size_t total) {
        progress("parameters of CLBlast", done, total);
      });
  products_ =
      tuned.empty() ? "CLBlast, not tuned: its version takes no parameters" : "tuned CLBlast";
  std::vector<NumberSource> numbers;
  for (const TunedKernel& kernel : tuned) {
    for (const auto& [name, value] : kernel.parameters) {
      numbers.push_back(
          {.pointer = fmt::format("/device/clblast/{}/{}", kernel.kernel, name),
           .value = static_cast<double>(value),
           .origin = Origin::measured,
           .text = fmt::format(
               "schedlab calibrate on {}, {}: {}", facts_.name, facts().date, kernel.how)});
    }
  }
  return numbers;
}

const SmLimits& OpenClBench::limits() const {
  return platform_.device(DeviceId{0}).sm_limits;
}

void OpenClBench::run(const Microbenchmark& benchmark,
                      const std::function<bool(const BenchRun&)>& again) {
  const CostTable costs = bench_costs(benchmark.graph, platform_);
  OpenClProxyWork work{executor_, benchmark.graph, costs};
  executor_.run_options().timing = benchmark.time_tasks ? TaskTiming::events : TaskTiming::none;
  Execution execution;
  BenchRun made;
  do {
    executor_.run(benchmark.graph, benchmark.plan, work, execution);
    made.trace = std::move(execution.trace);
  } while (again(made));
}

}  // namespace schedlab
