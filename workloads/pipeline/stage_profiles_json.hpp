// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/stage_profile.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Reads a file of stage profiles (docs/pipeline.md). Throws InputError with `file`, place, what
/// was found and what was expected.
[[nodiscard]] PipelineProfile read_stage_profiles(std::string_view text, const std::string& file);

}  // namespace schedlab
