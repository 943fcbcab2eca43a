// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cost_evidence.hpp"

#include "sim/graph/task_graph.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <algorithm>

namespace schedlab {
namespace {

/// Whether such a kernel was measured on such devices: attention, or a product in a type that a
/// library was fitted in.
bool is_fitted(const Kernel& kernel, const KernelProfile& profile) {
  if (kernel.attention.heads > 0) {
    return kernel.attention.queries == 1 ? profile.generation.known() : profile.context.known();
  }
  return kernel.kind == TaskKind::gemm &&
         std::any_of(
             profile.libraries.begin(), profile.libraries.end(), [&](const MatrixLibrary& one) {
               return !one.assumed && std::ranges::find(one.types, kernel.type) != one.types.end();
             });
}

CostEvidence calibrated_if(bool measured) {
  return measured ? CostEvidence::calibrated : CostEvidence::data_sheet;
}

}  // namespace

CostEvidence cost_evidence(const Device& device) {
  if (device.profile == nullptr) return CostEvidence::data_sheet;
  const auto& libraries = device.profile->libraries;
  const bool fitted = std::any_of(
      libraries.begin(), libraries.end(), [](const MatrixLibrary& one) { return !one.assumed; });
  const bool attention = device.profile->context.known() || device.profile->generation.known();
  return calibrated_if(fitted || attention || !device.profile->samples.empty());
}

CostEvidence cost_evidence(const Kernel& kernel, const Device& device) {
  if (device.profile == nullptr) return CostEvidence::data_sheet;
  return calibrated_if(!device.profile->samples.empty() || is_fitted(kernel, *device.profile));
}

CostEvidence cost_evidence(const TaskGraph& graph, const Device& device) {
  const CostEvidence of_device = cost_evidence(device);
  if (of_device == CostEvidence::data_sheet || !device.profile->samples.empty()) return of_device;
  const auto& operations = graph.operations();
  return calibrated_if(
      std::any_of(operations.begin(), operations.end(), [&](const Operation& operation) {
        return std::any_of(
            operation.kernels.begin(), operation.kernels.end(), [&](const Kernel& kernel) {
              return cost_evidence(kernel, device) == CostEvidence::calibrated;
            });
      }));
}

}  // namespace schedlab
