// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// The rows with boundaries and batches per bucket, and the largest batches. Ends with a line feed.
[[nodiscard]] std::string bucket_json(const BucketStudy& study);
/// The study as a report: what was simulated, these and `more_pictures` (SVG), what the numbers of
/// the machine mean (nullptr: nothing is said), and all rows, the chosen ones marked.
[[nodiscard]] ReportDocument bucket_report(const BucketStudy& study,
                                           const Sensitivity* sensitivity,
                                           const std::vector<std::string>& more_pictures);

/// Per rule, at the largest number of buckets: how lengths are distributed, and padded ones.
[[nodiscard]] std::string boundaries_picture(const BucketStudy& study);
/// Hours of a pass over the number of buckets, a panel per data set and setup.
[[nodiscard]] std::string epoch_time_picture(const BucketStudy& study);
/// GiB over the number of buckets, a panel per setup, with the capacity of a device.
[[nodiscard]] std::string bucket_memory_picture(const BucketStudy& study);

/// JSON Schema (draft 7) of bucket_json().
[[nodiscard]] std::string bucket_results_schema();

}  // namespace schedlab
