// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/recurrent.hpp"

namespace schedlab {

using LstmPass = RecurrentPass;
using LstmSpec = RecurrentSpec;

/// recurrent() with the LSTM cell, the workload of TurboLSTM.
[[nodiscard]] inline TaskGraph lstm(const LstmSpec& spec) {
  return recurrent(spec);
}

}  // namespace schedlab
