// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/required_evidence.hpp"

#include "sim/base/error.hpp"
#include "studies/base/printable.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

bool is_computed(TaskKind kind) {
  switch (kind) {
    case TaskKind::copy_host_to_device:
    case TaskKind::copy_device_to_host:
    case TaskKind::copy_device_to_device:
    case TaskKind::collective:
    case TaskKind::host:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string kernels_of_data_sheets(const Problem& problem) {
  const Device& device = problem.platform.devices[DeviceId{0}];
  std::map<std::pair<TaskKind, DataType>, std::size_t> count;
  for (const TaskId task : problem.graph.tasks()) {
    for (const Kernel& kernel : problem.graph.operation(task).kernels) {
      if (!is_computed(kernel.kind)) continue;
      if (cost_evidence(kernel, device) != CostEvidence::data_sheet) continue;
      ++count[{kernel.kind, kernel.type}];
    }
  }
  std::string text;
  for (const auto& [what, kernels] : count) {
    text += fmt::format("{}{} {} ({})",
                        text.empty() ? "" : ", ",
                        to_string(what.first),
                        to_string(what.second),
                        counted(kernels, "kernel"));
  }
  return text;
}

std::string lacking_evidence(const std::string& required, const Problem& problem) {
  if (required.empty()) return {};
  const std::optional<CostEvidence> level = enum_from<CostEvidence>(required);
  if (!level) {
    throw InputError({.file = "--require",
                      .pointer = {},
                      .found = fmt::format("\"{}\"", required),
                      .expected = "data_sheet or calibrated",
                      .hint = {}});
  }
  const CostEvidence has = cost_evidence(problem.graph, problem.platform.devices[DeviceId{0}]);
  if (has >= *level) return {};
  const std::string kernels = kernels_of_data_sheets(problem);
  return fmt::format("kernel times on {} are of evidence {}, not {}{}{}",
                     problem.platform.name,
                     to_string(has),
                     to_string(*level),
                     kernels.empty() ? "" : ": ",
                     kernels);
}

}  // namespace schedlab
