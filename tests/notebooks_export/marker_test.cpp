// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/marker.hpp"

#include "notebooks_export/chart.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <tuple>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("Twelve series are told apart without their colours") {
  std::set<std::tuple<std::string_view, MarkerShape, bool>> looks;
  for (std::size_t i = 0; i < 12; ++i) {
    const SeriesStyle style = series_style(i);
    looks.insert({style.dash, style.marker.shape, style.marker.hollow});
  }
  CHECK(looks.size() == 12);
}

TEST_CASE("Markers of a line with many points keep their distance") {
  // 1000 points over the 1004 pixels between the margins of one panel: a marker every 14 pixels or
  // more, so at most 73, and one in the legend.
  LineFigure figure;
  figure.panels = {{"", {{"a", {}}}}};
  for (int i = 0; i < 1000; ++i) {
    figure.panels[0].series[0].points.push_back({static_cast<double>(i), 1.0 + i});
  }
  figure.continuous_x = true;
  const std::string svg = line_figure_svg(figure);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<circle") > 30);
  CHECK(occurrences(svg, "<circle") <= 73 + 1);
}

TEST_CASE("A curve that turns back keeps the markers of its way back") {
  // Four points, the last two left of the one before, by less than markers keep between them.
  LineFigure figure;
  figure.panels = {{"",
                    {{"a",
                      {{.x = 0.0, .y = 1.0},
                       {.x = 100.0, .y = 2.0},
                       {.x = 99.9, .y = 3.0},
                       {.x = 99.8, .y = 4.0}}}}}};
  figure.continuous_x = true;
  CHECK(occurrences(line_figure_svg(figure), "<circle") == 4 + 1);  // and one in the legend
}

}  // namespace
}  // namespace schedlab
