// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_hosts.hpp"

namespace schedlab {

HostGroup host_group(const HostSpan& call) {
  if (2 * call.blocked > call.ended - call.started) return HostGroup::blocked;
  switch (call.what.kind()) {
    case HostCallKind::launch:
    case HostCallKind::graph_launch:
      return HostGroup::launch;
    case HostCallKind::record:
    case HostCallKind::wait:
      return HostGroup::event;
    case HostCallKind::query:
      return HostGroup::query;
    case HostCallKind::create_stream:
    case HostCallKind::destroy_stream:
      return HostGroup::stream;
    default:
      return HostGroup::other;
  }
}

std::array<bool, host_groups.size()> host_groups_used(const Trace& trace) {
  std::array<bool, host_groups.size()> used{};
  for (const HostSpan& call : trace.hosts) {
    if (call.ended > call.started) used[static_cast<std::size_t>(host_group(call))] = true;
  }
  return used;
}

}  // namespace schedlab
