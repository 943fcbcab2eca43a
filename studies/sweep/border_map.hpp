// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace schedlab {

inline constexpr std::size_t max_map_axes = 4;
/// A place on a map: which value of each axis; axes that the map has not are 0.
using MapPlace = std::array<std::uint32_t, max_map_axes>;

/// What was found at a place.
struct MapOutcome {
  std::uint32_t region = 0;
  /// By region, the lowest of which is that of the place; empty: nothing to interpolate.
  std::vector<double> heights{};
};

struct BorderMapSettings {
  std::vector<std::uint32_t> values{};  ///< of each axis, at least 2; 1 to max_map_axes axes
  std::uint32_t coarse_cells = 8;       ///< along each axis
  double border_width = 0.01;           ///< share of an axis; one value at least
  bool interpolate = true;
};

/// Two neighbours along an axis that lie in different regions.
struct MapBorder {
  MapPlace below{};
  std::uint32_t axis = 0;  ///< along which the other one is one value further
  std::uint32_t region_below = 0;
  std::uint32_t region_above = 0;

  friend bool operator==(const MapBorder&, const MapBorder&) = default;
};

/// Finds the borders between the regions of a grid from few of its places. It begins with the
/// corners of coarse cells. A cell is halved along each axis if places of it, corners and what its
/// neighbours have found on its edges, lie in different regions, until it is as narrow as
/// `border_width`. With `interpolate` the parts of a halved cell stay whole if its corners predict
/// all that was found in it: where two regions' heights are equal by linear interpolation, is off
/// by less than the width. Parts that a neighbour contradicts are halved on.
///
/// What follows from given outcomes is the same in whatever order they come. A region within
/// one coarse cell that reaches none of its corners is missed.
class BorderMap {
 public:
  explicit BorderMap(BorderMapSettings settings);

  /// The places that have to be added before refine(), in order; empty: the map is finished.
  [[nodiscard]] std::vector<MapPlace> wanted() const;
  void add(const MapPlace& place, MapOutcome outcome);
  /// Halves the cells that need it. All wanted() places have been added.
  void refine();

  /// What was added, in the order of the places.
  [[nodiscard]] const std::map<MapPlace, MapOutcome>& places() const { return places_; }
  /// Borders in the order of their places; those between places that were not added are predicted.
  [[nodiscard]] std::vector<MapBorder> borders() const;
  /// The regions of all places along one or two axes, where the other axes stand at `at`; the first
  /// axis varies fastest. A finished map.
  [[nodiscard]] std::vector<std::uint32_t> slice(std::uint32_t x,
                                                 std::optional<std::uint32_t> y,
                                                 const MapPlace& at) const;
  /// Places that the whole grid has.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] const BorderMapSettings& settings() const { return settings_; }

 private:
  struct Box {
    MapPlace low{};
    MapPlace high{};
  };
  struct Cell {
    Box box;
    std::optional<Box> parent{};  ///< until it has been looked whether that fits
    bool interpolated = false;    ///< interpolation between its corners is trusted
  };
  class Lattice;

  void add_coarse(std::size_t axis, Box box);
  [[nodiscard]] bool divisible(const Box& box) const;
  [[nodiscard]] bool needs_halving(Cell& cell) const;
  void halve(const Box& box, std::vector<Cell>& into) const;
  [[nodiscard]] bool fits(const Box& box) const;
  [[nodiscard]] std::uint32_t region_at(const Box& box, const MapPlace& place) const;
  [[nodiscard]] std::map<MapPlace, std::uint32_t> near_borders() const;

  BorderMapSettings settings_;
  MapPlace width_{};
  std::vector<Cell> cells_;
  std::map<MapPlace, MapOutcome> places_;
};

}  // namespace schedlab
