// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/memory_plan.hpp"   // memory_plan_schema()
#include "sim/trace/metrics_json.hpp"  // metrics_schema()

#include <string>

namespace schedlab {

// JSON Schemas (draft 7) of files, as text. What a schema cannot say (names that must exist,
// cycles) the readers check.

/// Graph files, see docs/workload_format.md.
[[nodiscard]] std::string graph_schema();
/// plan.json, see docs/plan_format.md.
[[nodiscard]] std::string plan_schema();
/// Files of stage profiles, see docs/pipeline.md.
[[nodiscard]] std::string stage_profiles_schema();
/// One row of results as `export` and the database have it; the axes come on top.
[[nodiscard]] std::string results_schema();

}  // namespace schedlab
