// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "sim/base/ids.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What the tasks of a graph are in CUDA C++: bodies of functions and what stands around them.
struct TaskCode {
  std::vector<std::string_view> texts{};  ///< of emitted_text(), besides those of every program
  std::string memory{};                   ///< declarations of what tasks work on
  std::string allocate{};                 ///< bodies of functions
  std::string prepare{};
  std::string reset{};
  std::string operations{};             ///< functions that tasks call
  IdVector<TaskId, std::string> tasks;  ///< bodies, with the lane `to`
  std::string outputs{};                ///< what runs are compared by, an Output each
  double allowed_difference = 0;
  std::string what{};  ///< what they compute, a sentence for the reader
};

/// The real cells, products and sums of a recurrent network, on numbers that are made when the
/// program starts; backward, after a forward pass. `capturing`: they become parts of device graphs.
/// Throws InfeasibleError for a copy from pageable memory that is captured.
[[nodiscard]] TaskCode recurrent_code(const RecurrentSpec& spec,
                                      const TaskGraph& graph,
                                      ProductPrecision precision,
                                      bool capturing);
/// Why there is no recurrent_code(); empty: there is.
[[nodiscard]] std::string why_not_recurrent(const RecurrentSpec& spec,
                                            std::optional<ProductPrecision> precision);

/// A function per operation that does work of its shape, or passes its time where only that is
/// known, for the reader to put the real one in its place. Throws InfeasibleError for a product in
/// a type that cuBLAS does not have, a collective, or a pageable copy that is captured.
[[nodiscard]] TaskCode proxy_code(const TaskGraph& graph, const CostTable& costs, bool capturing);

}  // namespace schedlab
