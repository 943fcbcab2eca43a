// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/border_map.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace schedlab {
namespace {

/// Calls `visit` for every place from `low` to `high`, both included.
template <class Visit>
void for_each_place(const MapPlace& low, const MapPlace& high, const Visit& visit) {
  MapPlace at = low;
  for (;;) {
    visit(at);
    std::size_t axis = 0;
    while (axis < max_map_axes && at[axis] == high[axis]) {
      at[axis] = low[axis];
      ++axis;
    }
    if (axis == max_map_axes) return;
    ++at[axis];
  }
}

}  // namespace

/// Corners of a box, and the middles between them along the axes that are halved.
class BorderMap::Lattice {
 public:
  Lattice(const BorderMap& map, const Box& box) : map_(map), box_(box) {}

  /// Calls `visit` with every corner.
  template <class Visit>
  void for_each_corner(const Visit& visit) const {
    MapPlace ends{};
    for (std::size_t i = 0; i < max_map_axes; ++i) ends[i] = box_.low[i] != box_.high[i] ? 1 : 0;
    for_each_place({}, ends, [&](const MapPlace& end) { visit(place(end, 1)); });
  }
  /// With every outcome that is known on the lattice.
  template <class Visit>
  void for_each_known(const Visit& visit) const {
    MapPlace ends{};
    for (std::size_t i = 0; i < max_map_axes; ++i) {
      ends[i] = box_.low[i] == box_.high[i]                   ? 0
                : map_.width_[i] < box_.high[i] - box_.low[i] ? 2
                                                              : 1;
    }
    for_each_place({}, ends, [&](const MapPlace& end) {
      MapPlace at{};
      for (std::size_t i = 0; i < max_map_axes; ++i) at[i] = coordinate(i, end[i], ends[i]);
      const auto known = map_.places_.find(at);
      if (known != map_.places_.end()) visit(at, known->second);
    });
  }

 private:
  [[nodiscard]] MapPlace place(const MapPlace& end, std::uint32_t ends) const {
    MapPlace at{};
    for (std::size_t i = 0; i < max_map_axes; ++i) at[i] = coordinate(i, end[i], ends);
    return at;
  }
  [[nodiscard]] std::uint32_t coordinate(std::size_t axis,
                                         std::uint32_t end,
                                         std::uint32_t ends) const {
    if (end == 0) return box_.low[axis];
    return end == ends ? box_.high[axis] : std::midpoint(box_.low[axis], box_.high[axis]);
  }

  const BorderMap& map_;
  const Box& box_;
};

BorderMap::BorderMap(BorderMapSettings settings) : settings_(std::move(settings)) {
  const std::size_t axes = settings_.values.size();
  SCHEDLAB_EXPECTS(axes > 0 && axes <= max_map_axes, "a map of few axes");
  for (std::size_t i = 0; i < axes; ++i) {
    SCHEDLAB_EXPECTS(settings_.values[i] > 1, "axes with several values");
    const double share = settings_.border_width * (settings_.values[i] - 1);
    width_[i] = std::max(1U, static_cast<std::uint32_t>(share * (1 + 1e-12)));
  }
  add_coarse(0, {});
}

void BorderMap::add_coarse(std::size_t axis, Box box) {
  if (axis == settings_.values.size()) {
    cells_.push_back({.box = box});
    return;
  }
  const std::uint32_t last = settings_.values[axis] - 1;
  const std::uint32_t count = std::min(last, settings_.coarse_cells);
  for (std::uint32_t i = 0; i < count; ++i) {
    box.low[axis] = static_cast<std::uint32_t>(std::uint64_t{last} * i / count);
    box.high[axis] = static_cast<std::uint32_t>(std::uint64_t{last} * (i + 1) / count);
    add_coarse(axis + 1, box);
  }
}

std::vector<MapPlace> BorderMap::wanted() const {
  std::set<MapPlace> wanted;
  for (const Cell& cell : cells_) {
    Lattice(*this, cell.box).for_each_corner([&](const MapPlace& at) {
      if (!places_.contains(at)) wanted.insert(at);
    });
  }
  return {wanted.begin(), wanted.end()};
}

void BorderMap::add(const MapPlace& place, MapOutcome outcome) {
  places_[place] = std::move(outcome);
}

bool BorderMap::divisible(const Box& box) const {
  for (std::size_t i = 0; i < settings_.values.size(); ++i) {
    if (box.high[i] - box.low[i] > width_[i]) return true;
  }
  return false;
}

void BorderMap::refine() {
  std::vector<Cell> refined;
  for (Cell& cell : cells_) {
    if (needs_halving(cell)) {
      halve(cell.box, refined);
    } else {
      refined.push_back(cell);
    }
  }
  cells_ = std::move(refined);
}

bool BorderMap::needs_halving(Cell& cell) const {
  if (!divisible(cell.box)) return false;
  if (cell.parent) {
    cell.interpolated = settings_.interpolate && fits(*cell.parent);
    cell.parent.reset();
  }
  std::set<std::uint32_t> regions;
  Lattice(*this, cell.box).for_each_known([&](const MapPlace&, const MapOutcome& outcome) {
    regions.insert(outcome.region);
  });
  return regions.size() > 1 && !(cell.interpolated && fits(cell.box));
}

void BorderMap::halve(const Box& box, std::vector<Cell>& into) const {
  MapPlace halves{};
  for (std::size_t i = 0; i < settings_.values.size(); ++i) {
    if (box.high[i] - box.low[i] > width_[i]) halves[i] = 1;
  }
  for_each_place({}, halves, [&](const MapPlace& half) {
    Cell part{.box = box, .parent = box};
    for (std::size_t i = 0; i < max_map_axes; ++i) {
      if (halves[i] == 0) continue;
      const std::uint32_t middle = std::midpoint(box.low[i], box.high[i]);
      (half[i] == 0 ? part.box.high[i] : part.box.low[i]) = middle;
    }
    into.push_back(part);
  });
}

namespace {

/// Heights at the corners of a box, by the bits of the corner.
struct Corners {
  std::vector<const MapOutcome*> outcomes;
  MapPlace low{};
  std::array<double, max_map_axes> length{};
  std::size_t axes = 0;

  /// Multilinear, of the difference of two regions.
  [[nodiscard]] double difference(std::uint32_t a, std::uint32_t b, const MapPlace& at) const {
    double sum = 0;
    for (std::size_t corner = 0; corner < outcomes.size(); ++corner) {
      double weight = 1;
      for (std::size_t i = 0; i < axes; ++i) {
        const double share = length[i] > 0 ? (at[i] - low[i]) / length[i] : 0;
        weight *= ((corner >> i) & 1U) != 0 ? share : 1 - share;
      }
      if (weight > 0) sum += weight * gap(corner, a, b);
    }
    return sum;
  }
  /// How much the difference changes over `width` along each axis, all together.
  [[nodiscard]] double slope(std::uint32_t a, std::uint32_t b, const MapPlace& width) const {
    double squares = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      double change = 0;
      for (std::size_t corner = 0; corner < outcomes.size(); ++corner) {
        change += (((corner >> i) & 1U) != 0 ? 1 : -1) * gap(corner, a, b);
      }
      change *= 2.0 / static_cast<double>(outcomes.size());
      if (length[i] > 0) change *= width[i] / length[i];
      squares += change * change;
    }
    return std::sqrt(squares);
  }

 private:
  [[nodiscard]] double gap(std::size_t corner, std::uint32_t a, std::uint32_t b) const {
    return outcomes[corner]->heights[a] - outcomes[corner]->heights[b];
  }
};

/// nullopt: some corner has no heights.
std::optional<Corners> corners_of(const MapPlace& low,
                                  const MapPlace& high,
                                  std::size_t axes,
                                  const std::map<MapPlace, MapOutcome>& places) {
  Corners corners{.outcomes = {}, .low = low, .length = {}, .axes = axes};
  for (std::size_t i = 0; i < axes; ++i) corners.length[i] = high[i] - low[i];
  for (std::size_t corner = 0; corner < (std::size_t{1} << axes); ++corner) {
    MapPlace at = low;
    for (std::size_t i = 0; i < axes; ++i) {
      if (((corner >> i) & 1U) != 0) at[i] = high[i];
    }
    const auto known = places.find(at);
    if (known == places.end() || known->second.heights.empty()) return std::nullopt;
    corners.outcomes.push_back(&known->second);
  }
  return corners;
}

}  // namespace

bool BorderMap::fits(const Box& box) const {
  const auto corners = corners_of(box.low, box.high, settings_.values.size(), places_);
  if (!corners) return false;
  std::set<std::uint32_t> rivals;
  bool complete = true;
  const Lattice lattice(*this, box);
  lattice.for_each_known([&](const MapPlace&, const MapOutcome& outcome) {
    rivals.insert(outcome.region);
    complete = complete && !outcome.heights.empty();
  });
  if (!complete) return false;
  bool good = true;
  lattice.for_each_known([&](const MapPlace& at, const MapOutcome& outcome) {
    for (const std::uint32_t a : rivals) {
      for (const std::uint32_t b : rivals) {
        if (a >= b) continue;
        const double off =
            corners->difference(a, b, at) - (outcome.heights[a] - outcome.heights[b]);
        good = good && std::abs(off) <= corners->slope(a, b, width_);
      }
    }
  });
  return good;
}

std::uint32_t BorderMap::region_at(const Box& box, const MapPlace& place) const {
  const auto known = places_.find(place);
  if (known != places_.end()) return known->second.region;
  std::set<std::uint32_t> rivals;
  Lattice(*this, box).for_each_known([&](const MapPlace&, const MapOutcome& outcome) {
    rivals.insert(outcome.region);
  });
  const auto corners = corners_of(box.low, box.high, settings_.values.size(), places_);
  if (rivals.size() == 1) return *rivals.begin();
  if (corners) {
    std::uint32_t best = *rivals.begin();
    for (const std::uint32_t rival : rivals) {
      if (corners->difference(rival, best, place) < 0) best = rival;
    }
    return best;
  }
  MapPlace nearest = box.low;
  for (std::size_t i = 0; i < max_map_axes; ++i) {
    if (place[i] - box.low[i] > box.high[i] - place[i]) nearest[i] = box.high[i];
  }
  return places_.at(nearest).region;
}

std::map<MapPlace, std::uint32_t> BorderMap::near_borders() const {
  std::map<MapPlace, std::uint32_t> regions;
  for (const Cell& cell : cells_) {
    std::set<std::uint32_t> here;
    Lattice(*this, cell.box).for_each_known([&](const MapPlace&, const MapOutcome& outcome) {
      here.insert(outcome.region);
    });
    if (here.size() < 2) continue;
    for_each_place(cell.box.low, cell.box.high, [&](const MapPlace& at) {
      if (!regions.contains(at)) regions[at] = region_at(cell.box, at);
    });
  }
  return regions;
}

std::vector<MapBorder> BorderMap::borders() const {
  std::vector<MapBorder> borders;
  const std::map<MapPlace, std::uint32_t> regions = near_borders();
  for (const auto& [place, region] : regions) {
    for (std::uint32_t axis = 0; axis < settings_.values.size(); ++axis) {
      MapPlace next = place;
      ++next[axis];
      const auto above = regions.find(next);
      if (above == regions.end() || above->second == region) continue;
      borders.push_back({place, axis, region, above->second});
    }
  }
  return borders;
}

std::vector<std::uint32_t> BorderMap::slice(std::uint32_t x,
                                            std::optional<std::uint32_t> y,
                                            const MapPlace& at) const {
  const std::uint32_t columns = settings_.values[x];
  constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> regions(std::size_t{columns} * (y ? settings_.values[*y] : 1),
                                     unknown);
  for (const Cell& cell : cells_) {
    Box part{.low = at, .high = at};
    bool touches = true;
    for (std::uint32_t i = 0; i < settings_.values.size(); ++i) {
      if (i == x || i == y) {
        part.low[i] = cell.box.low[i];
        part.high[i] = cell.box.high[i];
      } else {
        touches = touches && cell.box.low[i] <= at[i] && at[i] <= cell.box.high[i];
      }
    }
    if (!touches) continue;
    for_each_place(part.low, part.high, [&](const MapPlace& place) {
      const std::size_t row = y ? place[*y] : 0;
      std::uint32_t& region = regions[row * columns + place[x]];
      if (region == unknown) region = region_at(cell.box, place);
    });
  }
  return regions;
}

std::uint64_t BorderMap::size() const {
  std::uint64_t size = 1;
  for (const std::uint32_t values : settings_.values) size *= values;
  return size;
}

}  // namespace schedlab
