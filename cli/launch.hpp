// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How the host brings tasks to the device; all words a spec may use.
[[nodiscard]] const std::vector<std::string>& launch_words();

/// Throws InfeasibleError for a launch mode this version does not simulate, naming the one it does.
void expect_supported_launch(std::string_view word);

}  // namespace schedlab
