// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/dispatching_policy.hpp"

#include "sim/base/error.hpp"

namespace schedlab {

std::optional<OnlineStep> DispatchingPolicy::next(const HostView& /*view*/) {
  throw InfeasibleError(
      "\"dispatch\": \"dynamic\" needs workers that take tasks themselves: the simulator and "
      "--device cpu have them\n  elsewhere use \"dispatch\": \"static\"");
}

}  // namespace schedlab
