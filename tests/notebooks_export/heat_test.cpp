// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart_heat.hpp"
#include "notebooks_export/chart_spans.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/sweep_heat.hpp"
#include "sim/base/error.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

using namespace testing;

/// machine x layers x batch x steps x policy; "b" takes layers + batch / 100 + steps / 1000 of
/// what "a" takes.
[[nodiscard]] Table sweep() {
  Table table;
  for (const char* axis : {"machine", "layers", "batch", "steps", "policy"}) {
    table.columns.push_back({axis, ColumnRole::axis});
  }
  table.columns.push_back({"makespan_us", ColumnRole::metric});
  for (const std::string machine : {"one", "two"}) {
    for (const std::int64_t layers : {2, 4}) {
      for (const std::int64_t batch : {10, 20, 40}) {
        for (const std::int64_t steps : {5, 6, 7}) {
          const double share = static_cast<double>(layers) + static_cast<double>(batch) / 100 +
                               static_cast<double>(steps) / 1000;
          table.rows.push_back({machine, layers, batch, steps, std::string{"a"}, 100.0});
          table.rows.push_back({machine, layers, batch, steps, std::string{"b"}, 100.0 * share});
        }
      }
    }
  }
  return table;
}

TEST_CASE("A map holds the ratio of two policies over two axes, a panel per value of others") {
  const Table table = sweep();
  const SweepView view{table};
  HeatMapOptions options;
  options.x = "batch";
  options.y = "layers";
  options.panels = {"machine"};
  const HeatFigure figure = heat_map(view, options);
  CHECK(figure.x_values == std::vector<std::string>{"10", "20", "40"});
  CHECK(figure.y_values == std::vector<std::string>{"2", "4"});
  REQUIRE(figure.panels.size() == 2);
  CHECK(figure.panels[1].title == "two");
  // Of steps 5, 6, 7 the middle one.
  CHECK(*figure.panels[0].cells[0][0] == doctest::Approx(2.106));
  CHECK(*figure.panels[0].cells[1][2] == doctest::Approx(4.406));
  CHECK(figure.subtitle == "median over steps");

  options.at = {{"steps", "7"}};
  const HeatFigure fixed = heat_map(view, options);
  CHECK(*fixed.panels[0].cells[0][0] == doctest::Approx(2.107));
  CHECK(fixed.subtitle == "steps = 7");
}

TEST_CASE("Left alone, a map takes the numeric axes with most values and panels for the rest") {
  const Table table = sweep();
  const HeatFigure figure = heat_map(SweepView{table});
  // batch and steps have three values each; machine and layers give four panels.
  CHECK(figure.x_label == "steps");
  CHECK(figure.y_label == "batch");
  CHECK(figure.panels.size() == 4);
  CHECK(figure.panels[0].title == "one, layers = 2");
}

TEST_CASE("Wrong names are refused with the nearest spelling") {
  const Table table = sweep();
  const SweepView view{table};
  const auto problem = [&](const HeatMapOptions& options) {
    try {
      static_cast<void>(heat_map(view, options));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  HeatMapOptions wrong_axis;
  wrong_axis.x = "bath";
  CHECK(problem(wrong_axis).find("--x: found \"bath\"") == 0);
  CHECK(problem(wrong_axis).find("did you mean \"batch\"") != std::string::npos);
  HeatMapOptions wrong_value;
  wrong_value.at = {{"steps", "8"}};
  CHECK(problem(wrong_value).find("one of 5, 6, 7") != std::string::npos);
  HeatMapOptions wrong_policy;
  wrong_policy.policy = "c";
  CHECK(problem(wrong_policy).find("--policy") == 0);
}

TEST_CASE("Sweeps with two numeric axes get a map per policy; others none") {
  const Table table = sweep();
  const auto maps = heat_maps(SweepView{table});
  REQUIRE(maps.size() == 1);
  CHECK(maps[0].file_name == "map_b");
  CHECK(xml_problem(maps[0].svg) == "");
  // 4 panels of 9 cells, each with its value.
  CHECK(occurrences(maps[0].svg, ">2.1") == 2 * 3);
  Table flat = table;
  flat.columns[2].role = ColumnRole::note;
  flat.columns[3].role = ColumnRole::note;
  CHECK(heat_maps(SweepView{flat}).empty());
  CHECK_THROWS_WITH_AS(static_cast<void>(heat_map(SweepView{flat})),
                       doctest::Contains("this sweep has only"),
                       InfeasibleError);
}

TEST_CASE("The scale of a map is white at the neutral value and ends in two colours") {
  CHECK(diverging_color(0) == "#ffffff");
  CHECK(diverging_color(-1) == "#0072b2");
  CHECK(diverging_color(1) == "#d55e00");
  CHECK(diverging_color(5) == diverging_color(1));
  HeatFigure figure;
  figure.x_values = {"1", "2"};
  figure.y_values = {"1"};
  figure.panels = {{"p", {{0.5, 2.0}}}};
  const std::string svg = heat_figure_svg(figure);
  CHECK(xml_problem(svg) == "");
  // Halves and doubles are equally far from 1: the scale ends at both.
  CHECK(occurrences(svg, ">0.50<") == 2);
  CHECK(occurrences(svg, ">2.00<") == 2);
  CHECK(xml_problem(heat_figure_svg({})) == "");
}

TEST_CASE("Titles of maps are whole, whatever it takes, and each map names its axes") {
  HeatFigure figure;
  figure.x_label = "batch";
  figure.y_label = "layers";
  figure.x_values = {"32", "128"};
  figure.y_values = {"2"};
  for (int i = 0; i < 8; ++i) {
    figure.panels.push_back({"hidden = 1024, ascend_910b, number " + std::to_string(i), {{1, 1}}});
  }
  const std::string svg = heat_figure_svg(figure);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, ">hidden = 1024, ascend_910b, number ") == 8);
  CHECK(occurrences(svg, "\xE2\x80\xA6") == 0);  // no ellipsis
  CHECK(occurrences(svg, ">batch<") == 8);
  CHECK(occurrences(svg, ">layers<") == 8);
}

TEST_CASE("A span figure draws a diamond for a number and a band for a range") {
  SpanFigure figure;
  figure.title = "a < b";
  figure.rows.push_back({.name = "number",
                         .note = "within",
                         .color = "#009E73",
                         .low = 1,
                         .lower_quartile = 2,
                         .median = 3,
                         .upper_quartile = 4,
                         .high = 5,
                         .target = 2.5,
                         .target_low = {},
                         .target_high = {}});
  figure.rows.push_back({.name = "range",
                         .note = "missed",
                         .color = "#D55E00",
                         .low = 1,
                         .lower_quartile = 1,
                         .median = 1,
                         .upper_quartile = 1,
                         .high = 1,
                         .target = {},
                         .target_low = 2,
                         .target_high = {}});
  const std::string svg = span_figure_svg(figure);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<polygon") == 1);
  CHECK(occurrences(svg, "<circle") == 2);
  CHECK(occurrences(svg, "opacity=\"0.22\"") == 1);
  CHECK(xml_problem(span_figure_svg({})) == "");
}

}  // namespace
}  // namespace schedlab
