// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/figure.hpp"

#include "notebooks_export/chart.hpp"
#include "notebooks_export/chart_heat.hpp"
#include "notebooks_export/row_panel.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("A scale leaves 4 % beyond its data, and nothing beyond zero") {
  // 10 to 60: 2 of margin at both ends, so 8 to 62 over 540 pixels are 10 pixels each.
  const Scale middle{{10, 60}, false, 100, 640};
  CHECK(middle.at(8) == doctest::Approx(100));
  CHECK(middle.at(35) == doctest::Approx(370));
  CHECK(middle.at(1000) == doctest::Approx(640));  // at the end of the axis
  CHECK(middle.value(0.5) == doctest::Approx(35));
  // 0 to 100: from 0 to 104.
  const Scale from_zero{{0, 100}, false, 0, 104};
  CHECK(from_zero.at(0) == doctest::Approx(0));
  CHECK(from_zero.at(100) == doctest::Approx(100));
}

TEST_CASE("A logarithmic scale has equal steps for equal factors; one value is drawn, too") {
  const Scale scale{{1, 100}, true, 0, 200};
  CHECK(scale.at(10) == doctest::Approx(100));
  CHECK(scale.at(10) - scale.at(1) == doctest::Approx(scale.at(100) - scale.at(10)));
  CHECK(scale.at(-1) == doctest::Approx(0));
  const Scale one{{7, 7}, false, 0, 10};
  CHECK(one.at(7) == doctest::Approx(5));
}

TEST_CASE("A range holds what it was shown, but for infinities") {
  Range range;
  CHECK(range.empty());
  for (const double value : {3.0, 12.0, std::numeric_limits<double>::infinity()}) range.add(value);
  CHECK(range.low == 3);
  CHECK(range.high == 12);
  CHECK(range.spans(4));
  CHECK_FALSE(range.spans(4.1));
}

TEST_CASE("Panels stand in rows as high as their highest panel") {
  // Two columns of 50 pixels: heights 10 and 30, then 20.
  const PanelGrid grid{{5, 100}, 2, 50, {10, 30, 20}};
  CHECK(grid.corner(1).x == 55);
  CHECK(grid.corner(1).y == 100);
  CHECK(grid.corner(2).x == 5);
  CHECK(grid.corner(2).y == 130);
  CHECK(grid.bottom() == 150);
}

TEST_CASE("A legend and its series have the same number, and points tell their values") {
  LineFigure figure;
  figure.panels = {{"", {{"a<b", {{1, 2}, {2, 3.25}}}, {"c", {{1, 4}, {2, 5}}}}}};
  const std::string svg = line_figure_svg(figure);
  CHECK(xml_problem(svg) == "");
  for (const char* part : {"data-legend=\"0\"",
                           "data-legend=\"1\"",
                           "data-series=\"0\"",
                           "data-series=\"1\"",
                           "<title>a&lt;b: 3.25 at 2</title>",
                           "<title>c: 4 at 1</title>"}) {
    CAPTURE(part);
    CHECK(occurrences(svg, part) == 1);
  }
}

TEST_CASE("Bars and cells tell their values") {
  BarFigure one;
  one.panels = {{"", {{.name = "one", .value = 1.5, .low = 1, .high = 2}}}};
  const std::string bars = bar_figure_svg(one);
  CHECK(occurrences(bars, "<title>one: 1.5, from 1 to 2</title>") == 1);
  HeatFigure figure;
  figure.x_label = "n";
  figure.y_label = "m";
  figure.x_values = {"8"};
  figure.y_values = {"2", "4"};
  figure.panels = {{"", {{0.5}, {std::nullopt}}}};
  const std::string cells = heat_figure_svg(figure);
  CHECK(xml_problem(cells) == "");
  CHECK(occurrences(cells, "<title>n 8, m 2: 0.5</title>") == 1);
  CHECK(occurrences(cells, "m 4:") == 0);  // no value
}

TEST_CASE("Rows lie between their names and their notes") {
  RowTexts texts;
  texts.add("a name", "note");
  const RowPanel panel{{0, 0}, 400, texts, 3};
  CHECK(panel.area().left > text_width("a name", 11));
  CHECK(panel.area().right < 400 - text_width("note", 11));
  CHECK(panel.middle(2) - panel.middle(1) == doctest::Approx(22));
  CHECK(panel.area().bottom > panel.middle(2));
}

}  // namespace
}  // namespace schedlab
