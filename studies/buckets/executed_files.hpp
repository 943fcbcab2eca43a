// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/executed_epochs.hpp"

#include <string>

namespace schedlab {

/// One line per executed pass: the axes of the study, then predicted and measured numbers.
[[nodiscard]] Table executed_table(const BucketStudy& study, const ExecutedStudy& executed);
/// The same with the device and every run. Ends with a line feed.
[[nodiscard]] std::string executed_json(const BucketStudy& study, const ExecutedStudy& executed);
/// A table for the terminal, with the medians of the errors.
[[nodiscard]] std::string executed_text(const BucketStudy& study, const ExecutedStudy& executed);
/// A heading and the same table, for the report.
[[nodiscard]] std::string executed_html(const BucketStudy& study, const ExecutedStudy& executed);
/// Seconds of a pass over the number of buckets: predicted and measured side by side for each data
/// set and setup.
[[nodiscard]] std::string executed_picture(const BucketStudy& study, const ExecutedStudy& executed);

/// JSON Schema (draft 7) of executed_json().
[[nodiscard]] std::string executed_epochs_schema();

}  // namespace schedlab
