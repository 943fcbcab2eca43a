// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab {

/// As Linux names this computer's processor; "CPU" where it does not.
[[nodiscard]] std::string processor_name();

}  // namespace schedlab
