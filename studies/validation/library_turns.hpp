// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/vendor/library_rnn.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/validation/library_comparison.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

namespace schedlab {

struct TurnsRequest {
  std::uint32_t turns = 50;
  std::uint32_t warm_up = 3;  ///< turns before them that are not kept
  std::uint64_t seed = 1;     ///< of the intervals
  double library_us = 0;      ///< what the library took when the baseline was measured
  const StopFlag* stop = nullptr;
};

/// Runs a plan and a library's routine for the same pass one after the other, so that what drifts
/// on the device meets both alike. A training step of the library is its forward and its backward
/// pass. Throws what the two throw, and Interrupted.
[[nodiscard]] LibraryTurns measure_in_turns(Measurer& measurer,
                                            const MeasureRequest& plan,
                                            LibraryRnn& library,
                                            RecurrentPass pass,
                                            const TurnsRequest& request);

}  // namespace schedlab
