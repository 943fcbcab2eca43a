// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/green_contexts.hpp"

#include "real_exec/cuda/cuda_context.hpp"
#include "sim/base/error.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <string_view>

namespace schedlab::detail {

#if CUDA_VERSION >= 12050  // cuGreenCtxStreamCreate came with 12.5

namespace {

struct GreenDriver {
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetDevResource) resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) stream = nullptr;
  std::string_view missing{};  ///< the first function that the driver lacks
};

template <class Function>
void find(GreenDriver& driver, Function& function, std::string_view name) {
  // POSIX's own way from an object pointer to a function.
  function = reinterpret_cast<Function>(  // NOLINT(*-reinterpret-cast): above
      driver_function(name.data()));
  if (function == nullptr && driver.missing.empty()) driver.missing = name;
}

GreenDriver green_driver() {
  GreenDriver driver;
  find(driver, driver.device, "cuDeviceGet");
  find(driver, driver.resource, "cuDeviceGetDevResource");
  find(driver, driver.split, "cuDevSmResourceSplitByCount");
  find(driver, driver.describe, "cuDevResourceGenerateDesc");
  find(driver, driver.create, "cuGreenCtxCreate");
  find(driver, driver.destroy, "cuGreenCtxDestroy");
  find(driver, driver.stream, "cuGreenCtxStreamCreate");
  return driver;
}

void check_driver(CUresult status, std::string_view call) {
  if (status != CUDA_SUCCESS) {
    throw DeviceError(fmt::format("{}: CUresult {}", call, static_cast<int>(status)));
  }
}

}  // namespace

std::string why_no_green_contexts() {
  const GreenDriver driver = green_driver();
  if (driver.missing.empty()) return {};
  return fmt::format("the driver has no {}: green contexts need one of CUDA 12.5 or later",
                     driver.missing);
}

GreenContexts::GreenContexts(int device, const std::vector<std::uint32_t>& partitions) {
  const GreenDriver driver = green_driver();
  if (!driver.missing.empty()) throw InfeasibleError(why_no_green_contexts());
  if (partitions.size() != 1) {
    throw InfeasibleError(fmt::format(
        "green contexts: {} partitions, and the driver divides a device once", partitions.size()));
  }
  CUdevice handle = 0;
  check_driver(driver.device(&handle, device), "cuDeviceGet");
  CUdevResource all{};
  check_driver(driver.resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  unsigned int groups = 1;
  CUdevResource part{};
  CUdevResource rest{};
  const CUresult split = driver.split(&part, &groups, &all, &rest, 0, partitions.front());
  if (split == CUDA_SUCCESS && part.sm.smCount != partitions.front()) {
    throw InfeasibleError(
        fmt::format("green contexts: the driver makes {} of {} units {}; ask for {}",
                    partitions.front(),
                    all.sm.smCount,
                    part.sm.smCount,
                    part.sm.smCount),
        "urgent_units",
        fmt::format("{}", partitions.front()),
        fmt::format("{}", part.sm.smCount));
  }
  check_driver(split, "cuDevSmResourceSplitByCount");
  for (CUdevResource* const units : {&rest, &part}) {
    CUdevResourceDesc description = nullptr;
    check_driver(driver.describe(&description, units, 1), "cuDevResourceGenerateDesc");
    CUgreenCtx context = nullptr;
    check_driver(driver.create(&context, description, handle, CU_GREEN_CTX_DEFAULT_STREAM),
                 "cuGreenCtxCreate");
    contexts_.push_back(context);
  }
}

GreenContexts::~GreenContexts() {
  const GreenDriver driver = green_driver();
  for (void* const context : contexts_) {
    static_cast<void>(driver.destroy(static_cast<CUgreenCtx>(context)));
  }
}

CudaStream GreenContexts::make_stream(std::uint32_t partition, int priority) const {
  CUstream made = nullptr;
  check_driver(green_driver().stream(&made,
                                     static_cast<CUgreenCtx>(contexts_.at(partition)),
                                     CU_STREAM_NON_BLOCKING,
                                     priority),
               "cuGreenCtxStreamCreate");
  return CudaStream(made);
}

#else

std::string why_no_green_contexts() {
  return "the program is built with a CUDA toolkit before 12.5, which has no green contexts";
}
GreenContexts::GreenContexts(int /*device*/, const std::vector<std::uint32_t>& /*partitions*/) {
  throw InfeasibleError(why_no_green_contexts());
}
GreenContexts::~GreenContexts() = default;
CudaStream GreenContexts::make_stream(std::uint32_t /*partition*/, int /*priority*/) const {
  return {};
}

#endif

}  // namespace schedlab::detail
