// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/final_synchronization.hpp"

namespace schedlab {

void synchronize_at_end(Plan& plan) {
  for (HostProgram& host : plan.hosts) {
    if (host.calls.empty() || !(host.calls.back() == HostCall::synchronize_all())) {
      host.calls.push_back(HostCall::synchronize_all());
    }
  }
}

}  // namespace schedlab
