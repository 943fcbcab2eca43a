// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/cmd_execute.hpp"
#include "studies/base/terminal.hpp"

namespace schedlab {

/// `execute` on a CUDA device: makespans from runs in which nothing is timed but the whole, then
/// one run whose tasks are timed by events of the device, which gives the files.
[[nodiscard]] int run_on_cuda(const ExecuteOptions& options, int device, const Terminal& terminal);

}  // namespace schedlab
