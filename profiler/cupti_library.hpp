// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <memory>
#include <string>

namespace schedlab {

/// CUPTI, loaded when it is first asked for, so that programs start where it is not installed.
/// Members have the names of the library's functions.
class CuptiLibrary {
 public:
  /// Throws DeviceError with the loader's reason if the library or one of the functions is missing.
  CuptiLibrary();

  // NOLINTBEGIN(readability-identifier-naming): the library's own names
  decltype(&::cuptiGetVersion) cuptiGetVersion = nullptr;
  decltype(&::cuptiGetErrorMessage) cuptiGetErrorMessage = nullptr;
  decltype(&::cuptiGetResultString) cuptiGetResultString = nullptr;
  decltype(&::cuptiGetCallbackName) cuptiGetCallbackName = nullptr;
  decltype(&::cuptiGetTimestamp) cuptiGetTimestamp = nullptr;
  decltype(&::cuptiGetGraphNodeId) cuptiGetGraphNodeId = nullptr;
  decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 = nullptr;
  decltype(&::cuptiUnsubscribe) cuptiUnsubscribe = nullptr;
  decltype(&::cuptiEnableCallback) cuptiEnableCallback = nullptr;
  decltype(&::cuptiActivityEnable) cuptiActivityEnable = nullptr;
  decltype(&::cuptiActivityDisable) cuptiActivityDisable = nullptr;
  decltype(&::cuptiActivityEnableRuntimeApi) cuptiActivityEnableRuntimeApi = nullptr;
  decltype(&::cuptiActivityEnableDriverApi) cuptiActivityEnableDriverApi = nullptr;
  decltype(&::cuptiActivityEnableAllSyncRecords) cuptiActivityEnableAllSyncRecords = nullptr;
  decltype(&::cuptiActivityEnableLatencyTimestamps) cuptiActivityEnableLatencyTimestamps = nullptr;
  decltype(&::cuptiActivityEnableCudaEventDeviceTimestamps)
      cuptiActivityEnableCudaEventDeviceTimestamps = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) cuptiActivityRegisterCallbacks = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) cuptiActivityRegisterTimestampCallback =
      nullptr;
  decltype(&::cuptiActivityFlushAll) cuptiActivityFlushAll = nullptr;
  decltype(&::cuptiActivityGetNextRecord) cuptiActivityGetNextRecord = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) cuptiActivityGetNumDroppedRecords = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) cuptiActivityPushExternalCorrelationId =
      nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) cuptiActivityPopExternalCorrelationId =
      nullptr;
  // NOLINTEND(readability-identifier-naming)

  /// Throws DeviceError with the call, the error's name and what to do, unless `result` is success.
  void expect_success(CUptiResult result, const std::string& call) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::unique_ptr<void, Close> library_;
};

/// Empty, or why no device driver can be used in this process.
[[nodiscard]] std::string missing_driver();

}  // namespace schedlab
