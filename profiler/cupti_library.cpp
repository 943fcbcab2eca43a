// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_library.hpp"

#include "sim/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

namespace schedlab {
namespace {

std::string loader_error() {
  const char* const text = dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
  return text == nullptr ? "unknown error of the loader" : text;
}

void* open_library() {
  // CUPTI's worker thread and the driver keep calling into it: it is never unmapped.
  constexpr int mode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  // The loader's search path first (LD_LIBRARY_PATH), then the toolkit of the build.
  void* library = dlopen(SCHEDLAB_CUPTI_NAME, mode);
  if (library == nullptr) library = dlopen(SCHEDLAB_CUPTI_PATH, mode);
  if (library == nullptr) {
    throw DeviceError(fmt::format(
        "CUPTI cannot be loaded: {}\n  install the CUDA toolkit, or add the folder of {} "
        "to LD_LIBRARY_PATH",
        loader_error(),
        SCHEDLAB_CUPTI_NAME));
  }
  return library;
}

std::string_view advice(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "profiling is reserved to the administrator here: run as root, or load the driver "
             "with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler or debugger holds CUPTI: run without it";
    case CUPTI_ERROR_UNKNOWN:
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "CUPTI could not be initialized: is there a driver and a device?";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
      return "this device or driver cannot do it";
    default:
      return "see the CUPTI documentation of this error";
  }
}

}  // namespace

void CuptiLibrary::Close::operator()(void* library) const {
  dlclose(library);
}

// The names of members, functions and symbols are the same: a macro keeps them so.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): needs the name as text and as identifier
#define SCHEDLAB_LOAD(function)                                                           \
  do {                                                                                    \
    void* const symbol = dlsym(library_.get(), #function);                                \
    if (symbol == nullptr) {                                                              \
      throw DeviceError("CUPTI has no " #function ": " + loader_error() +                 \
                        "\n  the library found is older than the headers of this build"); \
    }                                                                                     \
    this->function = reinterpret_cast<decltype(&::function)>(symbol); /* NOLINT: dlsym */ \
  } while (false)

CuptiLibrary::CuptiLibrary() : library_(open_library()) {
  SCHEDLAB_LOAD(cuptiGetVersion);
  SCHEDLAB_LOAD(cuptiGetErrorMessage);
  SCHEDLAB_LOAD(cuptiGetResultString);
  SCHEDLAB_LOAD(cuptiGetCallbackName);
  SCHEDLAB_LOAD(cuptiGetTimestamp);
  SCHEDLAB_LOAD(cuptiGetGraphNodeId);
  SCHEDLAB_LOAD(cuptiSubscribe_v2);
  SCHEDLAB_LOAD(cuptiUnsubscribe);
  SCHEDLAB_LOAD(cuptiEnableCallback);
  SCHEDLAB_LOAD(cuptiActivityEnable);
  SCHEDLAB_LOAD(cuptiActivityDisable);
  SCHEDLAB_LOAD(cuptiActivityEnableRuntimeApi);
  SCHEDLAB_LOAD(cuptiActivityEnableDriverApi);
  SCHEDLAB_LOAD(cuptiActivityEnableAllSyncRecords);
  SCHEDLAB_LOAD(cuptiActivityEnableLatencyTimestamps);
  SCHEDLAB_LOAD(cuptiActivityEnableCudaEventDeviceTimestamps);
  SCHEDLAB_LOAD(cuptiActivityRegisterCallbacks);
  SCHEDLAB_LOAD(cuptiActivityRegisterTimestampCallback);
  SCHEDLAB_LOAD(cuptiActivityFlushAll);
  SCHEDLAB_LOAD(cuptiActivityGetNextRecord);
  SCHEDLAB_LOAD(cuptiActivityGetNumDroppedRecords);
  SCHEDLAB_LOAD(cuptiActivityPushExternalCorrelationId);
  SCHEDLAB_LOAD(cuptiActivityPopExternalCorrelationId);
}

#undef SCHEDLAB_LOAD

void CuptiLibrary::expect_success(CUptiResult result, const std::string& call) const {
  if (result == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown";
  throw DeviceError(fmt::format(
      "{} failed: {} ({})\n  {}", call, name, static_cast<int>(result), advice(result)));
}

std::string missing_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return "no NVIDIA driver: " + loader_error();
  dlclose(driver);
  return {};
}

}  // namespace schedlab
