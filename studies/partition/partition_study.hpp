// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/partition/partition_spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// One partition of the spec.
struct PartitionRow {
  std::uint32_t accelerators = 0;  ///< that there are
  PartitionResult result{};
};

/// Everything that is written of a spec.
struct PartitionStudy {
  const PartitionSpec* spec = nullptr;
  std::vector<PartitionRow> rows;  ///< in the order of the accelerators
};

/// Finds, or works out, all partitions of a spec, which must outlive the study.
/// Throws what partition_layers() and make_partition() throw, Interrupted.
[[nodiscard]] PartitionStudy run_partition_study(const PartitionSpec& spec,
                                                 const StopFlag* stop,
                                                 const PartitionProgress& progress = {});

/// Ends with a line feed.
[[nodiscard]] std::string partition_json(const PartitionStudy& study);
/// JSON Schema (draft 7) of partition_json().
[[nodiscard]] std::string partition_results_schema();
/// The stages of each row, for the terminal.
[[nodiscard]] std::string partition_text(const PartitionStudy& study);

/// The layers in the colours of their stages.
[[nodiscard]] std::string layers_picture(const PartitionStudy& study, const PartitionRow& row);
/// What each stage's load is made of.
[[nodiscard]] std::string stage_loads_picture(const PartitionStudy& study, const PartitionRow& row);

}  // namespace schedlab
