// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/border_map.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

namespace schedlab {
namespace {

/// What is found at a place, as a formula.
using Formula = std::function<MapOutcome(const MapPlace&)>;

BorderMap mapped(const BorderMapSettings& settings, const Formula& formula) {
  BorderMap map(settings);
  for (auto wanted = map.wanted(); !wanted.empty(); wanted = map.wanted()) {
    for (const MapPlace& place : wanted) map.add(place, formula(place));
    map.refine();
  }
  return map;
}

/// The first of two heights is 0, the second one this.
MapOutcome by_height(double height) {
  return {.region = height < 0 ? 1U : 0U, .heights = {0, height}};
}

/// The borders of the whole grid of two axes.
std::vector<MapBorder> whole_borders(const std::vector<std::uint32_t>& values,
                                     const Formula& formula) {
  std::vector<MapBorder> borders;
  for (std::uint32_t x = 0; x < values[0]; ++x) {
    for (std::uint32_t y = 0; y < values[1]; ++y) {
      const std::uint32_t here = formula({x, y}).region;
      if (x + 1 < values[0] && formula({x + 1, y}).region != here) {
        borders.push_back({{x, y}, 0, here, formula({x + 1, y}).region});
      }
      if (y + 1 < values[1] && formula({x, y + 1}).region != here) {
        borders.push_back({{x, y}, 1, here, formula({x, y + 1}).region});
      }
    }
  }
  return borders;
}

/// A circle of radius 30.3 around (47, 52).
MapOutcome circle(const MapPlace& at) {
  return by_height(std::hypot(1.0 * at[0] - 47, 1.0 * at[1] - 52) - 30.3);
}

TEST_CASE("halved to the end, the border of a circle is that of the whole grid") {
  const BorderMap map = mapped({.values = {101, 101}, .interpolate = false}, circle);
  CHECK(map.borders() == whole_borders({101, 101}, circle));
  CHECK(map.places().size() < 1000);  // of 10201
  const std::vector<std::uint32_t> slice = map.slice(0, 1, {});
  for (std::uint32_t y = 0; y < 101; ++y) {
    for (std::uint32_t x = 0; x < 101; ++x) {
      REQUIRE(slice[std::size_t{y} * 101 + x] == circle({x, y}).region);
    }
  }
}

TEST_CASE("interpolation places a smooth border to its width, from fewer places") {
  const BorderMap map = mapped({.values = {101, 101}, .coarse_cells = 6}, circle);
  CHECK(map.places().size() < 300);
  std::set<MapPlace> near;  // places beside the true border
  for (const MapBorder& border : whole_borders({101, 101}, circle)) near.insert(border.below);
  const std::vector<MapBorder> borders = map.borders();
  CHECK(borders.size() > 200);
  for (const MapBorder& border : borders) {
    // The true distance from the circle: within one place.
    CHECK(std::abs(circle(border.below).heights[1]) < 2);
  }
}

TEST_CASE("a straight border needs the coarse corners and one halving") {
  // 2 x + 3 y = 250.5 on 101 x 101 places.
  const Formula line = [](const MapPlace& at) {
    return by_height(2.0 * at[0] + 3.0 * at[1] - 250.5);
  };
  const BorderMap map = mapped({.values = {101, 101}, .coarse_cells = 4}, line);
  CHECK(map.borders() == whole_borders({101, 101}, line));
  CHECK(map.places().size() <= 25 + 8 * 5);
}

TEST_CASE("a border in three axes, and one that jumps, are found to the last value") {
  const Formula steps = [](const MapPlace& at) {
    return by_height(1.0 * (at[0] / 7) * 7 + 2.0 * at[1] + at[2] - 61.5);
  };
  const BorderMap map =
      mapped({.values = {41, 31, 21}, .coarse_cells = 4, .interpolate = false}, steps);
  std::size_t wrong = 0;
  for (const MapBorder& border : map.borders()) {
    MapPlace above = border.below;
    ++above[border.axis];
    wrong += steps(border.below).region == steps(above).region ? 1U : 0U;
  }
  CHECK(wrong == 0);
  const std::vector<std::uint32_t> slice = map.slice(0, 1, {0, 0, 13});
  for (std::uint32_t y = 0; y < 31; ++y) {
    for (std::uint32_t x = 0; x < 41; ++x) {
      REQUIRE(slice[std::size_t{y} * 41 + x] == steps({x, y, 13}).region);
    }
  }
}

TEST_CASE("what comes first does not matter, and regions without heights are not interpolated") {
  const Formula thirds = [](const MapPlace& at) { return MapOutcome{.region = at[0] / 34}; };
  const BorderMapSettings settings{.values = {101}, .coarse_cells = 5};
  BorderMap backwards(settings);
  for (auto wanted = backwards.wanted(); !wanted.empty(); wanted = backwards.wanted()) {
    std::reverse(wanted.begin(), wanted.end());
    for (const MapPlace& place : wanted) backwards.add(place, thirds(place));
    backwards.refine();
  }
  const std::vector<MapBorder> expected{{{33}, 0, 0, 1}, {{67}, 0, 1, 2}};
  CHECK(backwards.borders() == expected);
  CHECK(mapped(settings, thirds).borders() == expected);
  // log2(20) halvings of two of five cells.
  CHECK(backwards.places().size() <= 6 + 2 * 5);
}

TEST_CASE("an island within a coarse cell is missed, and found from finer cells") {
  const Formula island = [](const MapPlace& at) {
    return MapOutcome{.region = at[0] > 30 && at[0] < 36 && at[1] > 30 && at[1] < 36 ? 1U : 0U};
  };
  CHECK(mapped({.values = {101, 101}, .coarse_cells = 10}, island).borders().empty());
  CHECK(mapped({.values = {101, 101}, .coarse_cells = 25}, island).borders() ==
        whole_borders({101, 101}, island));
}

TEST_CASE("a wider border is found with fewer places") {
  const BorderMap map =
      mapped({.values = {101, 101}, .border_width = 0.05, .interpolate = false}, circle);
  CHECK(map.places().size() <
        mapped({.values = {101, 101}, .interpolate = false}, circle).places().size());
  for (const MapBorder& border : map.borders())
    CHECK(std::abs(circle(border.below).heights[1]) < 7);
}

}  // namespace
}  // namespace schedlab
