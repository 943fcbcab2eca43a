// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/metrics.hpp"
#include "sim/trace/sampled_metrics.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// The text of metrics.json. Times twice: `*_us` for people, `*_ps` exact. Tasks of the critical
/// path by name. With samples: what is said of them. With the document of the trace: utilization
/// over time. The keys are described in docs/trace_format.md.
[[nodiscard]] std::string metrics_json(const Metrics& metrics,
                                       const Problem& problem,
                                       const Plan& plan,
                                       std::string_view title,
                                       const Samples& samples = {},
                                       const TraceDocument* document = nullptr);
/// Its JSON Schema (draft 7).
[[nodiscard]] std::string metrics_schema();

}  // namespace schedlab
