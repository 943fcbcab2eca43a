// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/recurrent.hpp"

#include <string>

namespace schedlab::bench {

/// Writes DIR/lstm_LAYERS_HIDDEN_BATCH_STEPS/: shape.json, and what a training step is given and
/// returns as raw fp32 in the order of recurrent_values.hpp, for scripts/torch_lstm.py.
void write_files(const RecurrentSpec& spec, const std::string& folder);

}  // namespace schedlab::bench
