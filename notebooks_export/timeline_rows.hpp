// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/svg.hpp"
#include "sim/trace/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Where time lies on the picture.
struct TimeScale {
  double left = 0;   ///< where the axis begins, in pixels
  double width = 1;  ///< of the axis, in pixels
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 1;

  /// Times beyond an end of the axis lie at that end.
  [[nodiscard]] double x(Time time) const {
    const auto since = static_cast<double>(time.time_since_epoch().count() - begin_ps);
    return left + width * std::clamp(since / static_cast<double>(end_ps - begin_ps), 0.0, 1.0);
  }
  [[nodiscard]] bool shows(Time started, Time ended) const {
    return ended.time_since_epoch().count() >= begin_ps &&
           started.time_since_epoch().count() <= end_ps;
  }
};

/// One interval of a row. `group` indexes the colours of the row.
struct Bar {
  Time started{};
  Time ended{};
  std::uint32_t group = 0;
  bool outlined = false;
  std::string_view label;
  std::string_view family;  ///< start of the label that the legend says already; may be left out
  std::string_view shortest{};  ///< drawn where nothing else fits; may be empty
};

/// What all bars of a picture have in common.
struct RowStyle {
  std::vector<std::string> colors;  ///< by group
  bool tooltips = true;             ///< also keeps each bar an element of its own
  double label_size = 10;
};

inline constexpr double narrow_bar = 1.0;  ///< pixels; below it bars are merged

/// Draws one row: bars of a pixel and more as rectangles with their labels where these fit;
/// narrower ones merged per slice of a pixel, each group as high as the share of the slice it
/// fills. `bars` by rising start.
void draw_row(Svg& svg,
              const TimeScale& scale,
              double top,
              double height,
              const std::vector<Bar>& bars,
              const RowStyle& style);

}  // namespace schedlab
