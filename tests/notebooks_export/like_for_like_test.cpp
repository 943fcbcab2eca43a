// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/like_for_like.hpp"

#include "notebooks_export/crossovers.hpp"
#include "notebooks_export/report.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::occurrences;

/// Two policies on 2 and 4 layers. "whole" is given coarse tasks, "clever" fine ones, which are a
/// fifth less work. In us:
///
///           whole              clever
///   layers  coarse  fine       coarse  fine
///   2       100     80         110     60
///   4       200     150        200     160
[[nodiscard]] Table two_cuts() {
  Table table;
  using enum ColumnRole;
  table.columns = {{"scenario", note},
                   {"layers", axis},
                   {"policy", axis},
                   {"makespan_us", metric},
                   {"case_gap", metric},
                   {"task_granularity", note},
                   {"work_us", metric},
                   {"tasks", metric},
                   {"launches", metric},
                   {"makespan_at_coarse_ps", metric},
                   {"makespan_at_fine_ps", metric}};
  const auto row =
      [&](std::int64_t layers, const char* policy, std::int64_t coarse, std::int64_t fine) {
        const bool whole = std::string{policy} == "whole";
        table.rows.push_back({static_cast<std::int64_t>(table.rows.size()),
                              layers,
                              std::string{policy},
                              static_cast<double>(whole ? coarse : fine),
                              1.5,
                              std::string{whole ? "coarse" : "fine"},
                              whole ? 50.0 : 40.0,
                              whole ? layers : 5 * layers,
                              7 * layers,
                              coarse * 1'000'000,
                              fine * 1'000'000});
      };
  row(2, "whole", 100, 80);
  row(2, "clever", 110, 60);
  row(4, "whole", 200, 150);
  row(4, "clever", 200, 160);
  return table;
}

TEST_CASE("A gain is the product of what the cut brings and what the order brings") {
  const Table table = two_cuts();
  const SweepView view(table);
  REQUIRE(view.baseline() == "whole");
  const SweepCase& first = view.cases().front();
  const auto gain = split_gain(view, first, first.runs[1]);
  REQUIRE(gain);
  CHECK(gain->cut == doctest::Approx(100.0 / 80));
  CHECK(gain->order == doctest::Approx(80.0 / 60));
  CHECK(gain->cut * gain->order == doctest::Approx(*view.speed_up(first, first.runs[1])));
  // The baseline was given nothing else.
  CHECK(split_gain(view, first, first.runs[0])->cut == 1);
  CHECK(split_gain(view, first, first.runs[0])->order == 1);
}

TEST_CASE("Like for like every policy competes at every granularity") {
  const Table alike = like_for_like_table(two_cuts());
  const SweepView view(alike);
  REQUIRE(view.cases().size() == 4);  // layers x granularity
  std::vector<std::string> best;
  for (const SweepCase& one : view.cases()) {
    CHECK(one.runs.size() == 2);
    best.push_back(one.runs[*one.best].variant);
  }
  // 100 < 110, 60 < 80; 200 = 200 (the first), 150 < 160
  CHECK(best == std::vector<std::string>{"whole", "clever", "whole", "whole"});
  // Of a run that is not among the rows only the makespan is known.
  CHECK(view.number(0, "case_gap") == 1.5);
  CHECK_FALSE(view.number(1, "case_gap"));
  CHECK(view.number(1, "makespan_us") == 80);
}

TEST_CASE("The comparison in sentences says who wins like for like before it says who wins") {
  const Table table = two_cuts();
  const std::vector<std::string> lines = comparison_text(SweepView{table});
  REQUIRE(lines.size() == 5);
  // sqrt(100/110 * 200/200)
  CHECK(lines[0] ==
        "Like for like, granularity coarse: shortest whole in 2 of 2 cases; speed-up over whole: "
        "clever 0.95.");
  // sqrt(80/60 * 150/160)
  CHECK(lines[1] ==
        "Like for like, granularity fine: shortest whole in 1, clever in 1 of 2 cases; speed-up "
        "over whole: clever 1.12.");
  // sqrt(100/80 * 200/150), sqrt(110/60 * 200/160)
  CHECK(lines[2] == "The cut by itself, fine instead of coarse: whole 1.29, clever 1.51.");
  CHECK(lines[3] == "Each policy at its own granularity: shortest clever in 2 of 2 cases.");
  // sqrt(100/60 * 200/160) = sqrt(100/80 * 200/150) * sqrt(80/60 * 150/160)
  CHECK(lines[4] ==
        "Its speed-up over whole: clever 1.44 = cut 1.29 x order 1.12 (geometric means, as "
        "above).");
}

TEST_CASE("Policies that were not run like for like are marked") {
  Table table = two_cuts();
  table.columns.resize(9);
  for (auto& row : table.rows) row.resize(9);
  const std::vector<std::string> lines = comparison_text(SweepView{table});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("were not run like for like") != std::string::npos);
  CHECK(lines[1].find("Each policy at its own granularity: shortest clever in 2") !=
        std::string::npos);
}

TEST_CASE("A report says what each policy was given, and compares like for like first") {
  const std::string html = report_html(two_cuts(), {.title = "cuts"});
  const std::size_t given = html.find("What each policy was given");
  const std::size_t alike = html.find("Like for like: the best policy at each granularity");
  const std::size_t own = html.find("each at its own granularity");
  CHECK(given < alike);
  CHECK(alike < own);
  CHECK(own < html.size());
  CHECK(occurrences(html, "<td>10 to 20</td>") == 1);  // fine tasks of 2 and 4 layers
  CHECK(occurrences(html, "<td>0.8</td>") == 1);       // work over that of the baseline
  CHECK(occurrences(html, "<th class=\"n\">order</th>") == 1);
  CHECK(occurrences(html, "diamond") >= 1);  // in the picture
}

TEST_CASE("A crossover says up to where one policy loses to another, and from where it wins") {
  const Table alike = like_for_like_table(two_cuts());
  const SweepView view(alike);
  const Crossovers all = crossovers(view);
  // Along layers at two granularities; at coarse the tie decides nothing.
  CHECK(all.lines == 2);
  CHECK(all.turning == 1);
  REQUIRE(all.found.size() == 1);
  const Crossover& one = all.found.front();
  CHECK(view.name(one.axis) == "layers");
  CHECK(view.policies()[one.policy] == "whole");
  CHECK(view.policies()[one.other] == "clever");
  CHECK(one.last == 2);
  CHECK(one.first == 4);
  CHECK(one.rest == "task_granularity = fine");
  // Each at its own granularity clever is always faster.
  const Table table = two_cuts();
  CHECK(crossovers(SweepView{table}).found.empty());
}

TEST_CASE("A sweep of one policy lists its runs, and names no policy as the best") {
  Table table;
  table.columns = {{"launch", ColumnRole::axis}, {"makespan_us", ColumnRole::metric}};
  table.rows = {{std::string{"eager"}, 300.0}, {std::string{"graph_launch"}, 200.0}};
  const std::string html = report_html(table, {.title = "launches"});
  CHECK(occurrences(html, "makespan of  over") == 0);
  CHECK(occurrences(html, "the only one") == 0);
  CHECK(occurrences(html, "best policy") == 0);
  CHECK(html.find("<td>graph_launch</td>") < html.find("<td>eager</td>"));
  CHECK(occurrences(html, "<td class=\"n\">1.5</td>") == 1);
}

}  // namespace
}  // namespace schedlab
