// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// `line` and `points` look as the series of a plot does.
enum class LegendMark : std::uint8_t { filled, framed, arrow, line, points };

struct LegendEntry {
  std::string name;
  std::string color;  ///< of a filled mark
  LegendMark mark = LegendMark::filled;
  std::size_t series = 0;  ///< index of what it stands for: lines and points look like it
};

/// A legend that is set in lines between `left` and `right` (pixels).
class Legend {
 public:
  Legend(double left, double right) : left_(left), right_(right) {}

  void add(LegendEntry entry) { entries_.push_back(std::move(entry)); }
  /// 0 if there is nothing to show.
  [[nodiscard]] double height() const;
  void draw(Svg& svg, double top) const;

 private:
  struct Place {
    double x = 0;
    int line = 0;
  };
  [[nodiscard]] std::vector<Place> places() const;
  static void draw_mark(Svg& svg, const LegendEntry& entry, double x, double y);

  double left_;
  double right_;
  std::vector<LegendEntry> entries_;
};

}  // namespace schedlab
