// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/buckets/bucket_study.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// A JSON array with an object per row, without notes.
[[nodiscard]] std::string rows_json(const Table& table);
/// "batch 8, data_drop, unsorted": of data set and setup of a row what other rows of the study do
/// not share, so that it fits over a panel.
[[nodiscard]] std::string setup_label(const BucketStudy& study, const BucketRow& row);

/// A unit in which the largest value of a picture is a number of few digits.
struct ShownUnit {
  std::string name;
  double size = 1;  ///< in seconds or bytes
};
[[nodiscard]] ShownUnit time_unit(double largest_seconds);
[[nodiscard]] ShownUnit memory_unit(double largest_bytes);

}  // namespace schedlab
