// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_context.hpp"

#include "real_exec/cuda/cuda_check.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/green_contexts.hpp"
#include "sim/base/error.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr const char* connections_variable = "CUDA_DEVICE_MAX_CONNECTIONS";
constexpr std::uint32_t max_connections = 32;  // CUDA C++ Programming Guide, environment variables

/// The driver's own library, which comes with the driver and never with a toolkit.
void* driver_library() {
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

template <class Function>
Function driver_function(const char* name) {
  // POSIX's own way from an object pointer to a function.
  return reinterpret_cast<Function>(  // NOLINT(*-reinterpret-cast): above
      detail::driver_function(name));
}

/// Does the device's context exist? Asked of the driver, as asking the run-time would make it.
bool context_exists(int device) {
  const auto init = driver_function<decltype(&cuInit)>("cuInit");
  const auto get = driver_function<decltype(&cuDeviceGet)>("cuDeviceGet");
  const auto state =
      driver_function<decltype(&cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  if (init == nullptr || get == nullptr || state == nullptr || init(0) != CUDA_SUCCESS) {
    return false;
  }
  CUdevice found = 0;
  unsigned int flags = 0;
  int active = 0;
  return get(&found, device) == CUDA_SUCCESS && state(found, &flags, &active) == CUDA_SUCCESS &&
         active != 0;
}

void set_connections(int device, std::uint32_t connections) {
  if (connections < 1 || connections > max_connections) {
    throw InputError({.file = "connections",
                      .pointer = {},
                      .found = std::to_string(connections),
                      .expected = fmt::format("1 to {}", max_connections),
                      .hint = {}});
  }
  const std::string wanted = std::to_string(connections);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first use of the device, by one thread
  const char* const set = std::getenv(connections_variable);
  if (set != nullptr && wanted == set) return;
  const std::string before = set == nullptr ? "not set" : set;
  // First of all: the driver may read it when it starts.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
  setenv(connections_variable, wanted.c_str(), 1);
  if (!context_exists(device)) return;
  throw DeviceError(fmt::format(
      "{} connections: the context of CUDA device {} exists already ({} was {}); ask for them "
      "before its first use in this process",
      connections,
      device,
      connections_variable,
      before));
}

std::string describe(cudaError_t status) {
  return fmt::format("{} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  detail::check_cuda(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

/// "13.0" of 13000, as CUDA numbers its versions.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaAvailability not_available(std::string reason) {
  static_cast<void>(cudaGetLastError());
  return {.available = false, .reason = std::move(reason)};
}

}  // namespace

CudaAvailability cuda_available(int device) {
  void* const library = driver_library();
  if (library == nullptr) {
    return {.available = false,
            .reason =
                "no NVIDIA driver on this computer (libcuda.so.1 is not found); install it, "
                "or simulate the device: schedlab simulate"};
  }
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted == cudaErrorInsufficientDriver) {
    int newest = 0;  // CUDA that the driver supports; 0 if even that cannot be asked
    static_cast<void>(cudaDriverGetVersion(&newest));
    return not_available(fmt::format(
        "the NVIDIA driver knows CUDA up to {}, this program is built with CUDA {}; update "
        "the driver, or build with a toolkit of its version (12.3 or later, "
        "docs/gpu_execution.md)",
        newest > 0 ? version_text(newest) : "an older version",
        version_text(CUDART_VERSION)));
  }
  if (counted != cudaSuccess) {
    return not_available(fmt::format("no CUDA device: {}", describe(counted)));
  }
  if (device < 0 || device >= devices) {
    return not_available(
        fmt::format("no CUDA device {}: this computer has {}, counted from 0", device, devices));
  }
  cudaDeviceProp found{};
  const cudaError_t asked = cudaGetDeviceProperties(&found, device);
  if (asked != cudaSuccess) {
    return not_available(fmt::format("CUDA device {}: {}", device, describe(asked)));
  }
  if (10 * found.major + found.minor < SCHEDLAB_CUDA_OLDEST) {
    return not_available(fmt::format(
        "{} has compute capability {}.{}, this program has code for {}.{} and later; build with "
        "SCHEDLAB_CUDA_ARCHITECTURES (CUDA 13 compiles for 7.5 and up, CUDA 12 for older ones)",
        found.name,
        found.major,
        found.minor,
        SCHEDLAB_CUDA_OLDEST / 10,
        SCHEDLAB_CUDA_OLDEST % 10));
  }
  return {.available = true, .reason = found.name};
}

namespace detail {

void* driver_function(const char* name) {
  void* const library = driver_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

void CudaContext::use() const {
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
}

std::shared_ptr<const CudaContext> used_context(const CudaExecutor& executor) {
  std::shared_ptr<const CudaContext> context = executor.context();
  context->use();
  return context;
}

std::shared_ptr<const CudaContext> make_cuda_context(const CudaExecutorOptions& options) {
  const int device = options.device;
  if (options.connections) set_connections(device, *options.connections);
  const CudaAvailability found = cuda_available(device);
  if (!found.available) throw DeviceError(found.reason);

  auto context = std::make_shared<CudaContext>();
  context->device = device;
  context->blas = std::make_unique<BlasLibrary>();
  // A host that waits looks all the time, as a host does that the simulator has.
  check_cuda(cudaInitDevice(device, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid),
             "cudaInitDevice");
  context->use();
  if (options.products == CudaProducts::cublaslt) {
    context->lt = std::make_unique<LtProducts>(*context->blas);
  }
  DeviceProperties& properties = context->properties;
  properties.name = found.reason;
  check_cuda(
      cudaDeviceGetStreamPriorityRange(&properties.least_priority, &properties.greatest_priority),
      "cudaDeviceGetStreamPriorityRange");
  properties.programmatic_launches =  // CUDA Programming Guide, 4.5
      attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9;
  properties.no_partitions = why_no_green_contexts();
  properties.units = static_cast<std::uint32_t>(attribute(cudaDevAttrMultiProcessorCount, device));
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  properties.memory = Bytes{static_cast<std::int64_t>(total)};
  context->shared_memory_per_block =
      static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  // cuBLAS documentation of cublasSetWorkspace: 32 MiB from compute capability 9.0 on, 4 MiB
  // before.
  constexpr std::size_t mebibyte = std::size_t{1} << 20U;
  context->cache_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device));
  context->workspace_bytes =
      (attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9 ? 32 : 4) * mebibyte;
  return context;
}

}  // namespace detail
}  // namespace schedlab
