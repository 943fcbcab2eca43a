// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/timeline.hpp"

#include <span>
#include <string>

namespace schedlab {

/// The timelines of several runs beneath each other over one time axis, that of the longest, with
/// one colour for each operation. `options` are those of every picture; its critical path, mean and
/// memory, which are of one run, are left out.
/// Errors   as timeline_svg(); ContractViolation without a run.
[[nodiscard]] std::string timelines_svg(std::span<const TraceDocument> documents,
                                        TimelineOptions options = {});

}  // namespace schedlab
