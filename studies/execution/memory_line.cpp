// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/memory_line.hpp"

#include "sim/trace/memory_use.hpp"

#include <fmt/format.h>

namespace schedlab {

std::string memory_line(const AllocatedMemory& allocated, const Metrics& metrics) {
  const Bytes held = metrics.memory.empty() ? Bytes{0} : metrics.memory.front().peak;
  return fmt::format(
      "  tensors: at most {} allocated, {} by the life times of this run; {} of other arrays\n",
      readable_bytes(allocated.tensors_peak),
      readable_bytes(held),
      readable_bytes(allocated.workspace));
}

}  // namespace schedlab
