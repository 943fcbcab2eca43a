// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "studies/validation/validation.hpp"

namespace schedlab {

/// One scenario, in validation.json and (a row) in scenarios.csv.
[[nodiscard]] Fields<ScenarioOutcome> scenario_fields();
/// One measured run, in recording.json and (a row) in runs.csv.
[[nodiscard]] Fields<RunRecord> run_fields();

}  // namespace schedlab
