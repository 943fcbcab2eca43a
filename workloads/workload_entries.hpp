// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/registry.hpp"

namespace schedlab {

// Name, options and maker of each workload; registry.cpp lists them.
[[nodiscard]] WorkloadInfo lstm_workload();
[[nodiscard]] WorkloadInfo gru_workload();
[[nodiscard]] WorkloadInfo grid_workload();
[[nodiscard]] WorkloadInfo random_layered_workload();
[[nodiscard]] WorkloadInfo file_workload();

}  // namespace schedlab
