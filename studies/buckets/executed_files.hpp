// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "sim/sweep/table.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/executed_epochs.hpp"

#include <string>

namespace schedlab {

/// One line per executed pass: the axes of the study, then predicted and measured numbers.
[[nodiscard]] Table executed_table(const BucketStudy& study, const ExecutedStudy& executed);
/// The same with the device and every run. Ends with a line feed.
[[nodiscard]] std::string executed_json(const BucketStudy& study, const ExecutedStudy& executed);
/// Adds a section: the device, the medians of the errors, and the table as people read it.
void add_executed(ReportDocument& report, const BucketStudy& study, const ExecutedStudy& executed);
/// Seconds of a pass over the number of buckets: predicted and measured side by side for each data
/// set and setup.
[[nodiscard]] std::string executed_picture(const BucketStudy& study, const ExecutedStudy& executed);

/// JSON Schema (draft 7) of executed_json().
[[nodiscard]] std::string executed_epochs_schema();

}  // namespace schedlab
