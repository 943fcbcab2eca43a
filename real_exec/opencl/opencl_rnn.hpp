// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/vendor/library_rnn.hpp"

#include <memory>
#include <string>

namespace schedlab::detail {

/// "CLBlast on NAME, driver VERSION". Throws DeviceError with what is missing.
[[nodiscard]] std::string describe_clblast(const RnnDevice& device);

/// A recurrent network of CLBlast's products, as libraries cut one: weight gradients are one
/// product over all steps, everything goes into one queue of the device, cells are the kernels that
/// plans launch. Calls are forward and backward, fp32.
///
/// Errors  InfeasibleError for another type; DeviceError.
[[nodiscard]] std::unique_ptr<LibraryRnn> make_clblast_rnn(const RecurrentSpec& spec,
                                                           const RecurrentInputs<float>& inputs,
                                                           const RnnDevice& device);

}  // namespace schedlab::detail
