// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace schedlab::detail {

/// Throws InfeasibleError if `chains` x `steps` nodes are more than can be numbered, held or
/// tagged.
void check_nodes(std::string_view workload, std::int64_t chains, std::int64_t steps);

/// Shapes of the largest tensors of a recurrent stack.
struct RecurrentExtent {
  std::int64_t steps = 1;
  std::int64_t batch = 1;
  double hidden = 1;
  double width = 1;
  std::int64_t buffers = 1;
};
/// Throws InfeasibleError if sums of a few tensors of such a stack overflow a count of bytes.
void check_recurrent_tensors(const RecurrentExtent& extent);

/// Throws InfeasibleError if a tensor of so many elements overflows; `what` names its shape.
void check_elements(std::string_view workload, double elements, std::string_view what);

}  // namespace schedlab::detail
