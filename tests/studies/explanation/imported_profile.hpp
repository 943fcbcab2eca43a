// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace schedlab::testing {

inline nlohmann::json profile_span(
    const char* category, const char* name, int thread, int start, int duration) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", 1},
          {"tid", thread},
          {"ts", 1'000'000 + start},
          {"dur", duration},
          {"args", nlohmann::json::object()}};
}

inline nlohmann::json profile_call(const char* name, int correlation, int start, int duration) {
  nlohmann::json made = profile_span("cuda_runtime", name, 11, start, duration);
  made["args"]["correlation"] = correlation;
  return made;
}

inline nlohmann::json profile_kernel(
    const char* name, int correlation, int stream, int start, int duration) {
  nlohmann::json made = profile_span("kernel", name, stream, start, duration);
  made["args"] = {{"correlation", correlation}, {"device", 0}, {"stream", stream}};
  return made;
}

/// A profile of a step of 400 us: a long kernel, one beside it in another stream, and the host
/// waits for both.
inline std::string small_profile() {
  const nlohmann::json events =
      nlohmann::json::array({profile_span("user_annotation", "step", 11, 0, 400),
                             profile_span("cpu_op", "aten::mm", 11, 10, 20),
                             profile_call("cudaLaunchKernel", 1, 20, 5),
                             profile_kernel("gemm", 1, 7, 27, 300),
                             profile_span("cpu_op", "aten::add", 11, 40, 20),
                             profile_call("cudaLaunchKernel", 2, 50, 5),
                             profile_kernel("small", 2, 20, 57, 40),
                             profile_call("cudaDeviceSynchronize", 3, 70, 260)});
  return nlohmann::json{{"schemaVersion", 1}, {"traceEvents", events}}.dump();
}

}  // namespace schedlab::testing
