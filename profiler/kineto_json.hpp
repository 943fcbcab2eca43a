// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace schedlab {

struct KinetoOptions {
  std::string process_name = "schedlab";
  /// Name of a WorkId, e.g. the task's: becomes a span of category cpu_op around its calls.
  /// Without, there are none.
  std::function<std::string(WorkId)> name_of{};
};

/// Writes the log as PyTorch's profiler (Kineto) writes its own, in Chrome's Trace Event Format:
/// what reads those reads this. Categories kernel, gpu_memcpy, gpu_memset, cuda_runtime,
/// cuda_driver, cuda_sync, overhead and cpu_op; arrows ac2g from a call to what it started on the
/// device. Times are microseconds on the host's clock.
///
/// Source  field names: pytorch/kineto, libkineto/src/output_json.cpp and CuptiActivity.cpp.
void write_kineto_json(const ActivityLog& log,
                       const KinetoOptions& options,
                       const std::function<void(std::string_view)>& sink);
[[nodiscard]] std::string kineto_json(const ActivityLog& log, const KinetoOptions& options = {});

}  // namespace schedlab
