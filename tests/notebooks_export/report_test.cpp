// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report.hpp"

#include "notebooks_export/gap_map.hpp"
#include "notebooks_export/sweep_bars.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace testing;

std::vector<SweepPlot> sweep_plots(const Table& table, const SweepViewOptions& options = {}) {
  return schedlab::sweep_plots(SweepView{table, options});
}

/// machine x layers x policy, with a knob that only "clever" has. Makespans by a formula.
[[nodiscard]] Table small_sweep() {
  Table table;
  for (const char* axis : {"machine", "layers", "policy", "max_streams"}) {
    table.columns.push_back({axis, ColumnRole::axis});
  }
  for (const char* metric : {"makespan_us", "gap", "bound", "utilization", "host_bound_share"}) {
    table.columns.push_back({metric, ColumnRole::metric});
  }
  for (const std::string machine : {"slow", "fast"}) {
    for (const std::int64_t layers : {2, 4, 8}) {
      const double serial = static_cast<double>(layers) * (machine == "slow" ? 200 : 100);
      const auto row = [&](const std::string& policy, Cell knob, double makespan) {
        table.rows.push_back({machine,
                              layers,
                              policy,
                              std::move(knob),
                              makespan,
                              makespan / 100,
                              std::string{"work"},
                              100 / makespan,
                              0.25});
      };
      row("single_stream", {}, serial);
      row("clever", std::int64_t{2}, serial / 2);
      row("clever", std::int64_t{4}, serial / 4);
    }
  }
  return table;
}

TEST_CASE("A case holds all runs that differ only in policy and knobs") {
  const Table table = small_sweep();
  const SweepView view{table};
  CHECK(view.policies() == std::vector<std::string>{"single_stream", "clever"});
  CHECK(view.baseline() == "single_stream");
  CHECK(view.case_axes() == std::vector<std::size_t>{0, 1});
  CHECK(view.policy_axes() == std::vector<std::size_t>{3});  // only some policies have it
  REQUIRE(view.cases().size() == 6);
  const SweepCase& first = view.cases().front();
  REQUIRE(first.runs.size() == 3);
  REQUIRE(first.best);
  CHECK(first.runs[*first.best].variant == "clever, max_streams = 4");
  CHECK(*view.speed_up(first, first.runs[*first.best]) == doctest::Approx(4.0));
}

TEST_CASE("The map of gaps has each policy's shortest run over the bound of each case") {
  Table table = small_sweep();
  CHECK_FALSE(gap_map(SweepView{table}));  // no bounds of cases
  table.columns.push_back({"case_gap", ColumnRole::metric});
  for (auto& row : table.rows) {
    // The bound is half of what the better "clever" takes.
    const double serial =
        *cell_number(row[1]) * (std::get<std::string>(row[0]) == "slow" ? 200 : 100);
    row.emplace_back(*cell_number(row[4]) / (serial / 8));
  }
  const auto map = gap_map(SweepView{table});
  REQUIRE(map);
  CHECK(map->file_name == "gap_by_case");
  CHECK(xml_problem(map->svg) == "");
  // Columns: layers; panels: machines. single_stream is 8 times its bound, the best "clever" twice.
  for (const char* text : {">slow<", ">fast<", ">layers<", ">8.00<", ">2.00<"}) {
    CAPTURE(text);
    CHECK(map->svg.find(text) != std::string::npos);
  }
  CHECK(map->svg.find(">4.00<") == std::string::npos);  // of the other "clever"
}

TEST_CASE("The wanted baseline is taken if it was run") {
  const Table table = small_sweep();
  SweepViewOptions options;
  options.baseline = "clever";
  const SweepView view{table, options};
  CHECK(view.baseline() == "clever");
  // Its best variant: 4 times faster than single_stream.
  const SweepCase& first = view.cases().front();
  CHECK(*view.speed_up(first, first.runs[0]) == doctest::Approx(0.25));
  options.baseline = "unheard of";
  CHECK(SweepView{table, options}.baseline() == "single_stream");
}

TEST_CASE("Rows without a makespan are counted, not compared") {
  Table table = small_sweep();
  table.rows[1][4] = std::monostate{};
  const SweepView view{table};
  CHECK(view.failed_count() == 1);
  CHECK(view.run_count() == 17);
  CHECK(view.cases().front().runs.size() == 2);
}

TEST_CASE("A sweep gets bars, lines along its numeric axes, and lines along its knobs") {
  const auto plots = sweep_plots(small_sweep());
  std::vector<std::string> names;
  for (const SweepPlot& plot : plots) {
    CAPTURE(plot.file_name);
    CHECK(xml_problem(plot.svg) == "");
    names.push_back(plot.file_name);
  }
  CHECK(names == std::vector<std::string>{"speed_up",
                                          "makespan_over_layers",
                                          "speed_up_over_layers",
                                          "makespan_over_max_streams",
                                          "makespan_by_machine"});
  // Geometric mean of equal speed-ups; a panel per machine.
  CHECK(occurrences(plots[0].svg, ">4<") >= 2);
  CHECK(occurrences(plots[0].svg, ">slow<") == 1);
  CHECK(occurrences(plots[1].svg, "makespan (ms)") == 2);
  // Two lines of three points, in two panels: circles, and hollow squares, which are two polygons
  // each. The legend has one of either.
  CHECK(occurrences(plots[1].svg, "<circle") == 2 * 3 + 1);
  CHECK(occurrences(plots[1].svg, "<polygon") == 2 * (2 * 3 + 1));
  CHECK(occurrences(plots[1].svg, "stroke-dasharray") == 2 + 1);
  // The baseline is the dashed line; the other policy keeps its colour, dashes and markers.
  CHECK(occurrences(plots[2].svg, "<circle") == 0);
  CHECK(occurrences(plots[2].svg, "<polygon") == 2 * (2 * 3 + 1));
}

/// "critical_first" with a knob of words in two cases; makespans in us: 100 and 80 with
/// priorities, 150 and 90 without.
[[nodiscard]] Table sweep_of_words() {
  Table table;
  table.columns = {{"accumulation", ColumnRole::axis},
                   {"k", ColumnRole::axis},
                   {"priorities", ColumnRole::axis},
                   {"makespan_us", ColumnRole::metric}};
  const auto row = [&](const char* accumulation, Cell k, const char* priorities, double makespan) {
    table.rows.push_back(
        {std::string{accumulation}, std::move(k), std::string{priorities}, makespan});
  };
  row("ordered", {}, "true", 100);
  row("ordered", {}, "false", 150);
  row("batched", std::int64_t{2}, "true", 80);
  row("batched", std::int64_t{2}, "false", 90);
  row("batched", std::int64_t{5}, "true", 70);
  return table;
}

TEST_CASE("An axis of words gets bars, relative to its first value, of runs equal in all else") {
  const auto plots =
      value_bars(SweepView{sweep_of_words(), {.baseline = {}, .policy_axes = {"priorities"}}});
  // No two runs differ in accumulation alone: k differs, too.
  REQUIRE(plots.size() == 1);
  CHECK(plots[0].file_name == "makespan_by_priorities");
  CHECK(xml_problem(plots[0].svg) == "");
  CHECK(occurrences(plots[0].svg, ">true<") == 1);
  CHECK(occurrences(plots[0].svg, ">false<") == 1);
  // sqrt(150 / 100 * 90 / 80) = 1.299; the run with k = 5 has no other to be compared with.
  CHECK(occurrences(plots[0].svg, ">1.299<") == 1);
  CHECK(occurrences(plots[0].svg, "priorities = true") >= 1);
}

TEST_CASE("A numeric axis that only some cases have gets its lines, without a nameless legend") {
  const auto plots = sweep_plots(sweep_of_words(), {.baseline = {}, .policy_axes = {"priorities"}});
  REQUIRE(plots.size() == 2);
  CHECK(plots[0].file_name == "makespan_over_k");
  // The best at k = 2 and at k = 5 in one panel, called by its accumulation, and no legend.
  CHECK(occurrences(plots[0].svg, "<circle") == 2);
  CHECK(occurrences(plots[0].svg, ">batched<") == 1);
  CHECK(occurrences(plots[0].svg, ">ordered<") == 0);
}

TEST_CASE("Axes without space for panels are fixed at values that stand together in some case") {
  Table table;
  table.columns = {{"k", ColumnRole::axis},
                   {"a", ColumnRole::axis},
                   {"b", ColumnRole::axis},
                   {"makespan_us", ColumnRole::metric}};
  // 20 values of a without b, and 20 of b without a: neither fits into 12 panels.
  for (const std::int64_t k : {1, 2}) {
    for (std::int64_t i = 1; i <= 20; ++i) {
      table.rows.push_back({k, i, Cell{}, 10.0});
      table.rows.push_back({k, Cell{}, i, 10.0});
    }
  }
  const auto plots = sweep_plots(table);
  REQUIRE(!plots.empty());
  CHECK(plots[0].file_name == "makespan_over_k");
  CHECK(occurrences(plots[0].svg, "<circle") == 2);  // k = 1 and k = 2, at a = 20
  CHECK(occurrences(plots[0].svg, "at a = 20; ") == 1);
}

TEST_CASE("A sweep whose hosts scatter shows what that costs and how long ranks wait") {
  Table table;
  table.columns = {{"launch", ColumnRole::axis}, {"ranks", ColumnRole::axis}};
  for (const char* metric : {"makespan_us", "collective_wait_us"}) {
    table.columns.push_back({metric, ColumnRole::metric});
  }
  for (const std::string launch : {"eager", "graph_launch"}) {
    for (const std::int64_t ranks : {1, 8}) table.rows.push_back({launch, ranks, 100.0, 0.0});
  }
  const auto names_of = [](const std::vector<SweepPlot>& plots) {
    std::vector<std::string> names;
    for (const SweepPlot& plot : plots) names.push_back(plot.file_name);
    return names;
  };
  CHECK(names_of(sweep_plots(table)) ==
        std::vector<std::string>{"makespan_over_ranks", "makespan_by_launch"});
  for (const char* metric : {"makespan_us_mean", "collective_wait_us_mean"}) {
    table.columns.push_back({metric, ColumnRole::metric});
  }
  for (auto& row : table.rows) {
    const bool many = row[0] == Cell{std::string{"eager"}} && row[1] == Cell{std::int64_t{8}};
    row.emplace_back(many ? 125.0 : 100.0);
    row.emplace_back(many ? 21.0 : 0.0);
  }
  const auto plots = sweep_plots(table);
  CHECK(names_of(plots) == std::vector<std::string>{"makespan_over_ranks",
                                                    "slow_down_over_ranks",
                                                    "collective_wait_over_ranks",
                                                    "makespan_by_launch"});
  for (const SweepPlot& plot : plots) {
    CAPTURE(plot.file_name);
    CHECK(xml_problem(plot.svg) == "");
    if (plot.file_name == "makespan_by_launch") continue;  // bars
    CHECK(occurrences(plot.svg, "<circle") == 4);          // two points in each of two panels
  }
  // The axis reaches to 125 us over 100 us, the other to 21 us.
  CHECK(occurrences(plots[1].svg, ">1.25<") + occurrences(plots[1].svg, ">1.2<") > 0);
  CHECK(occurrences(plots[2].svg, ">20<") > 0);
}

TEST_CASE("More than eight policies are divided over panels") {
  Table table;
  table.columns = {{"layers", ColumnRole::axis}, {"policy", ColumnRole::axis}, {"makespan_us"}};
  for (const std::int64_t layers : {1, 2}) {
    for (int policy = 0; policy < 11; ++policy) {
      table.rows.push_back({layers, "policy" + std::to_string(policy), 1.0 + policy});
    }
  }
  const auto plots = sweep_plots(table);
  REQUIRE(plots.size() == 3);
  CHECK(occurrences(plots[1].svg, ">more lines<") == 1);
}

TEST_CASE("An empty table has no plots but a report") {
  CHECK(sweep_plots(Table{}).empty());
  CHECK(occurrences(report_html({}, {.title = "nothing"}), "<h1>nothing</h1>") == 1);
}

TEST_CASE("A report says who wins, by how much and why") {
  ReportOptions options;
  options.title = "A sweep";
  options.description = "What it is for.";
  options.spec = "{\"workload\": 1}";
  options.warnings = {"one scenario timed out"};
  options.figures = {{"Timeline of the best", "<svg><title>t</title></svg>\n"}};
  const std::string html = report_html(small_sweep(), options);
  for (const char* part : {"given the same tasks: shortest clever in 6 of 6 cases.",
                           "clever, max_streams = 4",
                           "100 us",
                           "<td class=\"n\">4</td>",
                           "as short as the work",
                           "utilization 100 %, up from 25 %",
                           "the device waits for the host 25 % of the time",
                           "one scenario timed out",
                           "{&quot;workload&quot;: 1}",
                           "Timeline of the best",
                           "What it is for."}) {
    CAPTURE(part);
    CHECK(occurrences(html, part) >= 1);
  }
  CHECK(html == report_html(small_sweep(), options));
}

TEST_CASE("A report stands alone, whatever its names") {
  Table table = small_sweep();
  table.columns[1].name = "<img src=x>";
  for (auto& row : table.rows) {
    if (row[2] == Cell{std::string{"clever"}}) row[2] = std::string{"<script>alert(1)</script>"};
    row[0] = std::string{"\"><a href=\"http://example.org\">"};
  }
  ReportOptions options;
  options.title = "</title><script>";
  options.warnings = {"<link rel=stylesheet href=x>"};
  options.spec = "</pre><iframe>";
  const std::string html = report_html(table, options);
  for (const char* tag :
       {"<script ", "<img", "<link", "<iframe", "<a ", "<object", "<embed", "@import", "url("}) {
    CAPTURE(tag);
    CHECK(occurrences(html, tag) == 0);
  }
  // The page's own script is the only one, and the page forbids itself to load anything.
  CHECK(occurrences(html, "<script") == 1);
  CHECK(occurrences(html, "default-src 'none'") == 1);
  // No attribute loads anything: what looks like one is escaped text.
  CHECK(occurrences(html, " src=\"") == 0);
  CHECK(occurrences(html, " href=\"") == 0);
}

TEST_CASE("The rows that a reader explores are data that no name leaves, with the pages of rows") {
  Table table = small_sweep();
  table.columns.insert(table.columns.begin(), {"scenario", ColumnRole::note});
  std::int64_t number = 0;
  for (auto& row : table.rows) row.insert(row.begin(), number++);
  for (auto& row : table.rows) {
    if (row[3] == Cell{std::string{"clever"}}) row[3] = std::string{"</script><b>"};
  }
  ReportOptions options;
  options.timelines["4"] = "timelines/scenario_4.html";
  const std::string html = report_html(table, options);
  CHECK(occurrences(html, "<script type=\"application/json\">{\"x\":") == 1);
  CHECK(occurrences(html, "\\u003c/script>\\u003cb>") == 1);  // once: words are numbered
  CHECK(occurrences(html, "</script") == 2);
  CHECK(occurrences(html, "\"pages\":{\"4\":\"timelines/scenario_4.html\"}") == 1);
  // In the table of all results.
  CHECK(occurrences(html, "<td class=\"n\"><a href=\"timelines/scenario_4.html\">4</a></td>") == 1);
}

TEST_CASE("Long tables are cut and say so") {
  ReportOptions options;
  options.max_cases = 2;
  options.max_rows = 5;
  const std::string html = report_html(small_sweep(), options);
  CHECK(occurrences(html, "The first 2 of 6 cases") == 1);
  CHECK(occurrences(html, "The first 5 of 18 rows") == 1);
}

}  // namespace
}  // namespace schedlab
