// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace schedlab {

/// "0.1.0", from the build.
[[nodiscard]] std::string_view program_version();

}  // namespace schedlab
