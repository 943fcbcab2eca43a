// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/opencl_device.hpp"

#include "calibration/opencl_bench.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

class OpenClDevice final : public ExecutionDevice {
 public:
  OpenClDevice(const NamedDevice& device,
               const DeviceRequest& request,
               ProductParameters products,
               const StopFlag* stop)
      : request_(request),
        executor_({.device = device.number,
                   .group_units = device.group_units,
                   .products = std::move(products),
                   .run = {.debug_sync = request.debug_sync, .stop = stop}}),
        traits_{
            .kind = "opencl",
            .title = executor_.properties().name,
            .name = fmt::format(
                "{}, {} compute units{}, driver {}",
                executor_.properties().name,
                executor_.facts().units,
                device.group_units == 0 ? "" : fmt::format(" in groups of {}", device.group_units),
                executor_.facts().driver),
            .products = executor_.products(),
            .executor = "OpenCL",
            .warm_up_runs = 2,  // assumed: as of other devices, the clock rate rises
            .ends_synchronized = true} {}

  [[nodiscard]] const DeviceTraits& traits() const override { return traits_; }
  [[nodiscard]] PlanExecutor& executor() override { return executor_; }

  [[nodiscard]] PreparedWork make_work(const PreparedProblem& problem,
                                       const std::optional<RecurrentSpec>& spec) override {
    if (spec && !request_.proxy) {
      return {.work = std::make_unique<OpenClRecurrentWork>(
                  executor_, *spec, *problem.graph, execution_data_seed, request_.allocation),
              .computes = true};
    }
    return {.work =
                std::make_unique<OpenClProxyWork>(executor_,
                                                  *problem.graph,
                                                  problem.costs,
                                                  request_.proxy.value_or(ProxyKernels::shapes))};
  }

 private:
  DeviceRequest request_;
  OpenClExecutor executor_;
  DeviceTraits traits_;
};

std::vector<ListedEntry> listed_opencl() {
  const OpenClDevices found = opencl_devices();
  if (found.devices.empty()) return {{.name = "opencl", .summary = "none: " + found.reason}};
  std::vector<ListedEntry> entries;
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    const OpenClDeviceFacts& device = found.devices[i];
    entries.push_back(
        {.name = fmt::format("opencl:{}", i),
         .summary = fmt::format(
             "{} ({}), {} compute units{}, {:.1f} GiB; {}{}, {}{}",
             device.name,
             device.kind,
             device.units,
             device.max_groups > 1 ? " that can be split" : "",
             static_cast<double>(device.memory.count()) / (1 << 30),
             device.priorities ? "3 priorities" : "one priority",
             device.throttles ? ", clock rates by hint" : "",
             device.device_graphs ? "device graphs without products" : "no device graphs",
             device.available ? "" : "; not available"),
         .source = fmt::format("{}, driver {}", device.platform, device.driver)});
  }
  return entries;
}

}  // namespace

ProductParameters machine_products(const Components& components, const Grid& grid, int device) {
  constexpr std::string_view prefix = "/device/clblast/";
  ProductParameters products;
  for (std::uint64_t i = 0; i < grid.part_count(Part::machine); ++i) {
    const MachineSpec machine = components.machine(i);
    ProductParameters own;
    for (const NumberSource& number : machine.sources) {
      if (!number.pointer.starts_with(prefix)) continue;
      const std::size_t name = number.pointer.rfind('/');
      own[number.pointer.substr(prefix.size(), name - prefix.size())]
         [number.pointer.substr(name + 1)] = static_cast<std::uint32_t>(number.value);
    }
    if (own.empty() || own == products) continue;
    const auto found = opencl_devices().devices;
    const auto index = static_cast<std::size_t>(device);
    const std::string& calibrated = machine.platform.devices[DeviceId{0}].name;
    if (index >= found.size() || found[index].name != calibrated) continue;
    if (!products.empty()) {
      throw InputError(
          {.file = "machine",
           .pointer = "/device/clblast",
           .found = fmt::format("other parameters in {} than in one before it", machine.name),
           .expected = "machines of one calibration, as a process has one CLBlast",
           .hint = "execute them one by one: --machine FILE"});
    }
    products = std::move(own);
  }
  return products;
}

DeviceKind opencl_kind() {
  return {.name = "opencl",
          .numbered = true,
          .splits = true,
          .library = RnnLibrary::clblast,
          .ends_synchronized = true,
          .prepare = [](DeviceRequest request, ScenarioSpace& /*space*/) { return request; },
          .open = [](const NamedDevice& device,
                     const DeviceRequest& request,
                     const ScenarioSpace& space,
                     const StopFlag* stop) -> std::unique_ptr<ExecutionDevice> {
            return std::make_unique<OpenClDevice>(
                device,
                request,
                machine_products(space.components(), space.grid(), device.number),
                stop);
          },
          .open_bench = [](const NamedDevice& device, const BenchRequest& request) -> OpenedBench {
            auto bench = std::make_unique<OpenClBench>(
                OpenClExecutorOptions{.device = device.number,
                                      .group_units = device.group_units,
                                      .run = {.stop = request.stop}},
                request.base);
            MachineSpec base = bench->base();
            return {.device = std::move(bench), .base = std::move(base)};
          },
          .list = &listed_opencl};
}

}  // namespace schedlab
