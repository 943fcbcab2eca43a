// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/cuda_device.hpp"

#include "calibration/cuda_bench.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

class CudaDevice final : public ExecutionDevice {
 public:
  CudaDevice(int number, const DeviceRequest& request, const StopFlag* stop)
      : request_(request),
        executor_({.device = number,
                   .connections = request.connections,
                   .products = request.products,
                   .run = {.debug_sync = request.debug_sync, .steady_start = true, .stop = stop}}),
        traits_{.kind = "cuda",
                .title = executor_.properties().name,
                .name = fmt::format("{}, {} multiprocessors",
                                    executor_.properties().name,
                                    executor_.properties().units),
                .products = std::string{to_string(request.products)},
                .executor = "CUDA",
                .warm_up_runs = 2,  // assumed: the clock rate rises within the first
                .legacy_default_stream = true,
                .programmatic_launches = executor_.properties().programmatic_launches,
                .no_partitions = executor_.properties().no_partitions,
                .ends_synchronized = true} {}

  [[nodiscard]] const DeviceTraits& traits() const override { return traits_; }
  [[nodiscard]] PlanExecutor& executor() override { return executor_; }

  [[nodiscard]] PreparedWork make_work(const PreparedProblem& problem,
                                       const std::optional<RecurrentSpec>& spec) override {
    if (spec && !request_.proxy) {
      return {.work = std::make_unique<CudaRecurrentWork>(executor_,
                                                          *spec,
                                                          *problem.graph,
                                                          execution_data_seed,
                                                          request_.precision,
                                                          request_.allocation),
              .computes = true};
    }
    const CudaProxyOptions options{.kernels = request_.proxy.value_or(ProxyKernels::shapes),
                                   .precision = request_.precision};
    return {.work =
                std::make_unique<CudaProxyWork>(executor_, *problem.graph, problem.costs, options)};
  }

 private:
  DeviceRequest request_;
  CudaExecutor executor_;
  DeviceTraits traits_;
};

OpenedBench open_bench(const NamedDevice& device, const BenchRequest& request) {
  auto bench = std::make_unique<CudaBench>(CudaExecutorOptions{.device = device.number,
                                                               .connections = request.connections,
                                                               .products = request.products,
                                                               .run = {.stop = request.stop}},
                                           request.base);
  MachineSpec base = bench->base();
  return {.device = std::move(bench), .base = std::move(base)};
}

std::vector<ListedEntry> listed_cuda() {
  std::vector<ListedEntry> entries;
  for (int i = 0;; ++i) {
    const CudaAvailability found = cuda_available(i);
    if (!found.available) {
      if (i == 0) return {{.name = "cuda", .summary = "none: " + found.reason}};
      return entries;
    }
    entries.push_back({.name = fmt::format("cuda:{}", i),
                       .summary = found.reason + "; priorities, device graphs"});
  }
}

}  // namespace

DeviceKind cuda_kind() {
  return {.name = "cuda",
          .numbered = true,
          .library = RnnLibrary::cudnn,
          .own_flags = {"--connections", "--precision", "--products", "--debug-sync", "--profile"},
          .ends_synchronized = true,
          .prepare =
              [](DeviceRequest request, ScenarioSpace& space) {
                if (!request.connections) request.connections = cuda_connections(space);
                return request;
              },
          .open = [](const NamedDevice& device,
                     const DeviceRequest& request,
                     const ScenarioSpace& /*space*/,
                     const StopFlag* stop) -> std::unique_ptr<ExecutionDevice> {
            return std::make_unique<CudaDevice>(device.number, request, stop);
          },
          .open_bench = &open_bench,
          .list = &listed_cuda};
}

std::optional<std::uint32_t> cuda_connections(const ScenarioSpace& space) {
  std::optional<std::uint32_t> number;
  for (std::uint64_t i = 0; i < space.grid().part_count(Part::machine); ++i) {
    const std::uint32_t found =
        space.components().machine(i).platform.devices[DeviceId{0}].connections;
    if (number && *number != found) {
      throw InputError({.file = "machine",
                        .pointer = "/connections",
                        .found = fmt::format("{} and {}", *number, found),
                        .expected = "one number of hardware connections, as a process has one",
                        .hint = "run them one after the other, with --connections"});
    }
    number = found;
  }
  // 0 is one for each stream; more than 32 CUDA does not have (CUDA C++ Programming Guide,
  // CUDA_DEVICE_MAX_CONNECTIONS).
  constexpr std::uint32_t most = 32;
  return number && *number >= 1 && *number <= most ? number : std::nullopt;
}

}  // namespace schedlab
