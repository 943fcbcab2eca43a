// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/fields.hpp"
#include "sim/base/statistics.hpp"
#include "sim/trace/metrics.hpp"

namespace schedlab {

/// The metrics of a run. A line here is a metric of metrics.json and its schema, a column of a
/// sweep's database, CSV file and schema and, in_samples, a number that is sampled where the
/// machine scatters.
[[nodiscard]] const Fields<Summary>& summary_fields();
/// The same in metrics.json, with what a sweep does not keep.
[[nodiscard]] const Fields<Metrics>& metrics_fields();
/// What is said of a number that scatters, but for the number of samples.
[[nodiscard]] const Fields<SampleSummary>& sample_fields();

}  // namespace schedlab
