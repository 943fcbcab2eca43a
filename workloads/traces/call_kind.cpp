// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/imported_trace.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

using NamedKind = std::pair<std::string_view, CallKind>;

// Names without "cuda", "cu" or "hip": CUDA Runtime API 13, CUDA Driver API 13 and HIP 7 reference
// manuals, and the names that rocprofiler writes (ExtModule..., HccModule...).
constexpr std::array named_kinds = {
    NamedKind{"LaunchKernel", CallKind::launch_kernel},
    NamedKind{"LaunchKernelEx", CallKind::launch_kernel},
    NamedKind{"LaunchKernelExC", CallKind::launch_kernel},
    NamedKind{"LaunchCooperativeKernel", CallKind::launch_kernel},
    NamedKind{"LaunchCooperativeKernelMultiDevice", CallKind::launch_kernel},
    NamedKind{"ExtLaunchKernel", CallKind::launch_kernel},
    NamedKind{"ExtModuleLaunchKernel", CallKind::launch_kernel},
    NamedKind{"HccModuleLaunchKernel", CallKind::launch_kernel},
    NamedKind{"ModuleLaunchKernel", CallKind::launch_kernel},
    NamedKind{"ModuleLaunchCooperativeKernel", CallKind::launch_kernel},
    NamedKind{"LaunchByPtr", CallKind::launch_kernel},
    NamedKind{"Launch", CallKind::launch_kernel},
    NamedKind{"LaunchGrid", CallKind::launch_kernel},
    NamedKind{"LaunchGridAsync", CallKind::launch_kernel},
    NamedKind{"GraphLaunch", CallKind::launch_graph},
    NamedKind{"EventRecord", CallKind::record_event},
    NamedKind{"EventRecordWithFlags", CallKind::record_event},
    NamedKind{"StreamWaitEvent", CallKind::wait_event},
    NamedKind{"EventQuery", CallKind::query},
    NamedKind{"StreamQuery", CallKind::query},
    NamedKind{"EventSynchronize", CallKind::synchronize_event},
    NamedKind{"StreamSynchronize", CallKind::synchronize_stream},
    NamedKind{"DeviceSynchronize", CallKind::synchronize_device},
    NamedKind{"CtxSynchronize", CallKind::synchronize_device},
    NamedKind{"ThreadSynchronize", CallKind::synchronize_device},
    NamedKind{"Malloc", CallKind::allocate},
    NamedKind{"MallocAsync", CallKind::allocate},
    NamedKind{"MallocFromPoolAsync", CallKind::allocate},
    NamedKind{"MallocManaged", CallKind::allocate},
    NamedKind{"MallocPitch", CallKind::allocate},
    NamedKind{"MallocArray", CallKind::allocate},
    NamedKind{"Malloc3D", CallKind::allocate},
    NamedKind{"ExtMallocWithFlags", CallKind::allocate},
    NamedKind{"MemAlloc", CallKind::allocate},
    NamedKind{"MemAllocAsync", CallKind::allocate},
    NamedKind{"MemAllocManaged", CallKind::allocate},
    NamedKind{"MemAllocPitch", CallKind::allocate},
    NamedKind{"Free", CallKind::free},
    NamedKind{"FreeAsync", CallKind::free},
    NamedKind{"FreeArray", CallKind::free},
    NamedKind{"MemFree", CallKind::free},
    NamedKind{"MemFreeAsync", CallKind::free},
    NamedKind{"StreamBeginCapture", CallKind::capture},
    NamedKind{"StreamBeginCaptureToGraph", CallKind::capture},
    NamedKind{"StreamEndCapture", CallKind::capture},
    NamedKind{"GraphInstantiate", CallKind::capture},
    NamedKind{"GraphInstantiateWithFlags", CallKind::capture},
    NamedKind{"GraphInstantiateWithParams", CallKind::capture},
};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "cudaMemcpyAsync_ptsz_v7000" -> "MemcpyAsync"
std::string_view plain_name(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "cu", "hip"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= 'A' &&
        name[prefix.size()] <= 'Z') {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  for (std::size_t at = name.rfind('_'); at != std::string_view::npos; at = name.rfind('_')) {
    const std::string_view suffix = name.substr(at + 1);
    const bool version = suffix.starts_with('v') && is_number(suffix.substr(1));
    if (!version && suffix != "ptsz" && suffix != "ptds" && suffix != "spt") break;
    name = name.substr(0, at);
  }
  return name;
}

/// As MTIA's runtime writes them in published profiles.
CallKind accelerator_call(std::string_view name) {
  if (name.starts_with("runFunction")) return CallKind::launch_kernel;
  if (name.starts_with("enqueueCommand memcpy")) return CallKind::copy;
  if (name == "enqueueCommand waitOnEvent") return CallKind::wait_event;
  if (name == "recordEvent") return CallKind::record_event;
  if (name == "synchronizeStream") return CallKind::synchronize_stream;
  return CallKind::other;
}

}  // namespace

CallKind call_kind(std::string_view name) {
  const std::string_view plain = plain_name(name);
  if (plain.size() == name.size()) return accelerator_call(name);  // none of cuda, cu, hip
  const auto found = std::find_if(
      named_kinds.begin(), named_kinds.end(), [&](const NamedKind& k) { return k.first == plain; });
  if (found != named_kinds.end()) return found->second;
  if (plain.starts_with("Memcpy")) return CallKind::copy;
  if (plain.starts_with("Memset")) return CallKind::memset;
  return CallKind::other;
}

std::string_view call_kind_name(CallKind kind) {
  constexpr std::array<std::string_view, 14> names = {"launch_kernel",
                                                      "launch_graph",
                                                      "copy",
                                                      "memset",
                                                      "record_event",
                                                      "wait_event",
                                                      "query",
                                                      "synchronize_event",
                                                      "synchronize_stream",
                                                      "synchronize_device",
                                                      "allocate",
                                                      "free",
                                                      "capture",
                                                      "other"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace schedlab
