// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/layer_picture.hpp"

#include "sim/base/error.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

/// A chain of `layers`, `per_stage` of them on each stage.
LayerPicture chain(std::uint32_t layers, std::uint32_t per_stage) {
  LayerPicture picture;
  picture.title = "a <chain>";
  for (std::uint32_t i = 0; i < layers; ++i) {
    picture.layers.push_back({.name = fmt::format("l{}", i), .stage = i / per_stage, .inputs = {}});
    if (i > 0) picture.layers.back().inputs = {i - 1};
  }
  return picture;
}

TEST_CASE("every layer is a box with its name and stage, and escaped text") {
  const std::string svg = layer_picture_svg(chain(30, 10));
  CHECK(testing::xml_problem(svg).empty());
  CHECK(count(svg, "<title>l") == 30);
  CHECK(count(svg, "<title>l29: stage 2</title>") == 1);
  CHECK(count(svg, ">stage 2<") == 1);  // the legend
  CHECK(count(svg, "a &lt;chain&gt;") >= 1);
}

TEST_CASE("large models are drawn stage by stage") {
  const std::string svg = layer_picture_svg(chain(700, 100));
  CHECK(count(svg, "<title>") == 7 + 1);  // and the picture's own
  CHECK(count(svg, "6: 100 layers") >= 1);
  CHECK(count(layer_picture_svg(chain(700, 1)), "the first 110 of 700 stages") == 1);
}

TEST_CASE("cycles and skipped layers can be drawn, layers that do not exist cannot") {
  LayerPicture picture = chain(4, 2);
  picture.layers[1].inputs.push_back(2);
  picture.layers[3].inputs.push_back(0);
  CHECK(count(layer_picture_svg(picture), "<path") == 2);
  picture.layers[3].inputs.push_back(9);
  CHECK_THROWS_AS(static_cast<void>(layer_picture_svg(picture)), ContractViolation);
}

}  // namespace
}  // namespace schedlab
