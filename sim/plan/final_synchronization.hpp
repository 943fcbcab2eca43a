// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"

namespace schedlab {

/// The same schedule by hosts that wait at the end until the device is idle, so that the run ends
/// when the host knows that it is over: what a clock on the host measures. A host whose last call
/// is such a wait gets no second one.
void synchronize_at_end(Plan& plan);

}  // namespace schedlab
