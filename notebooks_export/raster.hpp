// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace schedlab {

enum class RasterFormat : std::uint8_t { png, pdf };

/// Whether a picture was converted, and if not, why: a sentence for the user.
struct RasterResult {
  bool done = false;
  std::string reason;
};

/// Converts an SVG picture to PNG (`zoom` pixels per unit) or PDF with the program rsvg-convert,
/// which is started without a shell. Never throws for a missing program or a failed conversion:
/// pictures in these formats are an extra. `target` appears complete or not at all.
[[nodiscard]] RasterResult convert_svg(std::string_view svg,
                                       const std::filesystem::path& target,
                                       RasterFormat format,
                                       double zoom = 2.0);

/// Full path of a program, searched in the folders of the environment variable PATH; empty if
/// absent.
[[nodiscard]] std::filesystem::path find_program(std::string_view name);

}  // namespace schedlab
