// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"

#include <memory>

namespace schedlab {

/// The same schedule by a program that knows nothing of non-blocking streams: of each device the
/// stream with the lowest number becomes its legacy default stream, of priority 0, and all others
/// blocking ones. Calls that create or destroy a stream that is now the default one are dropped.
/// Idempotent.
void use_legacy_default_stream(Plan& plan);

/// The same for a policy that decides while it runs: stream 0 becomes the legacy default stream of
/// its device (of device 0 if the policy creates it itself), further devices' first streams theirs
/// if they are there from the start. The policy sees nothing of it but the times.
[[nodiscard]] std::unique_ptr<OnlinePolicy> with_legacy_default_stream(
    std::unique_ptr<OnlinePolicy> policy);

}  // namespace schedlab
