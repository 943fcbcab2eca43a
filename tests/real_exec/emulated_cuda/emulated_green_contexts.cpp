// SPDX-License-Identifier: Apache-2.0
// The driver's green contexts on the emulated device: units come in pairs, and a context is known
// by their number alone.
#include "real_exec/cuda/cuda_context.hpp"
#include "tests/real_exec/emulated_cuda/emulated_state.hpp"

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>

namespace schedlab {
namespace {

using testing::emulated_state;

constexpr unsigned units = 4;
constexpr unsigned together = 2;

CUresult get_device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

#if CUDA_VERSION >= 12050

// NOLINTBEGIN(*-reinterpret-cast,performance-no-int-to-ptr): opaque handles that are numbers
template <class Handle>
Handle handle_of(std::uint32_t number) {
  return reinterpret_cast<Handle>(std::uintptr_t{number});
}
template <class Handle>
std::uint32_t number_of(Handle handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}
// NOLINTEND(*-reinterpret-cast,performance-no-int-to-ptr)

CUresult get_resource(CUdevice /*device*/, CUdevResource* resource, CUdevResourceType type) {
  resource->type = type;
  resource->sm.smCount = units;
  return CUDA_SUCCESS;
}
CUresult split(CUdevResource* result,
               unsigned* groups,
               const CUdevResource* input,
               CUdevResource* remaining,
               unsigned /*flags*/,
               unsigned least) {
  const unsigned given = (least + together - 1) / together * together;
  if (*groups != 1 || given >= input->sm.smCount) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  *result = *input;
  *remaining = *input;
  result->sm.smCount = given;
  remaining->sm.smCount = input->sm.smCount - given;
  return CUDA_SUCCESS;
}
CUresult describe(CUdevResourceDesc* description, CUdevResource* resources, unsigned /*count*/) {
  *description = handle_of<CUdevResourceDesc>(resources->sm.smCount);
  return CUDA_SUCCESS;
}
CUresult create(CUgreenCtx* context, CUdevResourceDesc of, CUdevice /*device*/, unsigned flags) {
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  *context = handle_of<CUgreenCtx>(number_of(of));
  ++emulated_state().green_contexts_now;
  return CUDA_SUCCESS;
}
CUresult destroy(CUgreenCtx /*context*/) {
  --emulated_state().green_contexts_now;
  return CUDA_SUCCESS;
}
CUresult create_stream(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  if (cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority) != cudaSuccess) {
    return CUDA_ERROR_UNKNOWN;
  }
  (*stream)->units = number_of(context);
  return CUDA_SUCCESS;
}

#endif

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);  // NOLINT(*-reinterpret-cast): as dlsym gives it
}

}  // namespace

namespace detail {

void* driver_function(const char* name) {
  static const std::map<std::string, void*> functions {
    {"cuDeviceGet", address(get_device)},
#if CUDA_VERSION >= 12050
        {"cuDeviceGetDevResource", address(get_resource)},
        {"cuDevSmResourceSplitByCount", address(split)},
        {"cuDevResourceGenerateDesc", address(describe)}, {"cuGreenCtxCreate", address(create)},
        {"cuGreenCtxDestroy", address(destroy)}, {"cuGreenCtxStreamCreate", address(create_stream)},
#endif
  };
  const auto found = functions.find(name);
  const bool known = found != functions.end() &&
                     (emulated_state().green_contexts || found->first == "cuDeviceGet");
  return known ? found->second : nullptr;
}

}  // namespace detail
}  // namespace schedlab
