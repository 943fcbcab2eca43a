// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace schedlab {

/// A part of emitted programs by the name of its file: a template, or kernels that the library
/// itself runs. ContractViolation for another name.
[[nodiscard]] std::string_view emitted_text(std::string_view name);

}  // namespace schedlab
