// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>

namespace schedlab {

/// A chain of equal segments of which only the first state is kept.
struct SegmentedChain {
  std::int64_t segment = 1;  ///< steps
  Bytes bytes{};             ///< all kept states and the values of one segment
};

/// The segment length that needs least memory for a chain of `steps`: ceil(steps / s) states and
/// the values of s steps. Near sqrt(steps * state / values). Every step but those of the last
/// segment is computed once more. ContractViolation for fewer than one step.
/// Source  Chen, Xu, Zhang, Guestrin, arXiv 1604.06174.
[[nodiscard]] SegmentedChain min_memory_segments(std::int64_t steps, Bytes state, Bytes values);

/// Least forward steps of running a chain of equal steps backward with at most `slots` states
/// besides the input of step 0: before step t is run backward, step t runs forward from a state in
/// memory (its values go to scratch). With r the least number for which
/// C(slots + 1 + r, r) >= steps, it is (r + 1) steps - C(slots + 1 + r, r - 1). Saturates at the
/// largest number. ContractViolation for no steps or negative slots.
/// Source  Griewank and Walther, ACM TOMS 26(1), 2000, doi 10.1145/347837.347846.
[[nodiscard]] std::int64_t min_forward_steps(std::int64_t steps, std::int64_t slots);

}  // namespace schedlab
