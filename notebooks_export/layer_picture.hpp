// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// One layer of a model: on what stage it is, and whose outputs it reads (numbers of layers).
struct PicturedLayer {
  std::string name;
  std::uint32_t stage = 0;
  std::vector<std::uint32_t> inputs{};
};

struct LayerPicture {
  std::string title;
  std::string subtitle;
  std::vector<PicturedLayer> layers;
};

/// The layers as boxes in the colour of their stage, from left to right by depth (layers on cycles
/// by their number), line after line, with lines from what they read. Of more than 600 layers the
/// stages are drawn, the first 110 of them. ContractViolation for an input that does not exist.
[[nodiscard]] std::string layer_picture_svg(const LayerPicture& picture);

}  // namespace schedlab
