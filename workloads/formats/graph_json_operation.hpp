// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/json_place.hpp"
#include "workloads/formats/json_values.hpp"

#include <string_view>

namespace schedlab::detail {

/// Reads an operation of a graph in JSON. What it refers to must outlive it. Throws InputError at
/// the place that is wrong.
class JsonOperationReader {
 public:
  /// `place`: of the operation; its bytes are added to `totals`.
  JsonOperationReader(JsonPlace& place, JsonValues& values, GraphTotals& totals)
      : place_(place), values_(values), totals_(totals) {}

  [[nodiscard]] Operation read(JsonValues::Object fields);

 private:
  Kernel read_kernel(JsonValues::Object fields);
  AttentionShape read_attention(JsonValues::Object fields);
  /// The grid that a kernel is launched with; false if the key is none of it.
  bool read_grid(std::string_view key, JsonValues::Value value, KernelGrid& grid);

  JsonPlace& place_;
  JsonValues& values_;
  GraphTotals& totals_;
};

}  // namespace schedlab::detail
