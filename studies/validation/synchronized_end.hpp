// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/validation/prediction.hpp"

namespace schedlab {

/// The same prediction by a host that waits at the end until the device is idle, as one that
/// measures a device with streams of its own does: the run ends when the host knows that it is
/// over. The plan gets that wait as its last call; draws get longer by what the run without errors
/// does. Throws Interrupted.
void end_with_synchronization(PredictedScenario& predicted, const StopFlag* stop);

}  // namespace schedlab
