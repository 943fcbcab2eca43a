// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/overlay.hpp"

#include "notebooks_export/chart_parts.hpp"
#include "notebooks_export/chart_scatter.hpp"
#include "sim/base/error.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace testing;
using namespace literals;

/// `tasks` tasks of 1 us one after another on `streams` streams, the first at `start`.
[[nodiscard]] TraceDocument run_of(std::uint32_t tasks, std::uint32_t streams, Duration start) {
  TraceDocument document;
  document.title = "a <run> & more";
  document.origin = start == Duration{0} ? "simulated" : "measured";
  document.devices.push_back("device");
  document.hosts.push_back("host");
  for (std::uint32_t s = 0; s < streams; ++s) document.streams.push_back({DeviceId{0}, 0, ""});
  for (std::uint32_t i = 0; i < tasks; ++i) {
    document.tasks.push_back({.name = "task " + std::to_string(i),
                              .operation = i % 2 == 0 ? "cell" : "hidden_1",
                              .kind = TaskKind::gemm});
    const Time started{start + Duration{1'000'000} * (i / streams)};
    document.trace.tasks.push_back(
        {TaskId{i}, StreamId{i % streams}, HostId{0}, DeviceId{0}, {}, started, started + 1us});
    document.trace.ended = started + 1us;
  }
  return document;
}

TEST_CASE("An overlay has a simulated and a measured track per stream, and both ends") {
  const std::string svg = overlay_svg(run_of(12, 3, 0us), run_of(12, 3, 1us));
  CHECK(xml_problem(svg) == "");
  // 4 us simulated, 5 us measured.
  for (const char* part : {"stream 2",
                           "simulated 4 us",
                           "measured 5 us",
                           "(-20.0 %)",
                           "12 tasks on 3",
                           "simulated end",
                           "measured end",
                           "later start",
                           "hidden_1"}) {
    CAPTURE(part);
    CHECK(occurrences(svg, part) >= 1);
  }
  CHECK(occurrences(svg, ">simulated<") == 3);
  CHECK(occurrences(svg, ">measured<") == 3);
}

TEST_CASE("An overlay of many tasks and streams stays small; a run without tasks is drawn too") {
  const std::string large = overlay_svg(run_of(60'000, 300, 0us), run_of(60'000, 300, 2us));
  CHECK(xml_problem(large) == "");
  CHECK(large.size() < 2'000'000);
  CHECK(occurrences(large, "the busiest 48 shown") == 1);
  CHECK(xml_problem(overlay_svg(run_of(0, 1, 0us), run_of(0, 1, 1us))) == "");
}

TEST_CASE("An overlay names what has no label") {
  TraceDocument broken = run_of(2, 1, 0us);
  broken.trace.tasks[0].stream = StreamId{7};
  CHECK_THROWS_AS(static_cast<void>(overlay_svg(run_of(2, 1, 0us), broken)), ContractViolation);
}

TEST_CASE("Scatter and parts figures are well-formed, also without anything to show") {
  ScatterFigure scatter;
  scatter.title = "a < b";
  scatter.logarithmic = true;
  scatter.band = 0.05;
  CHECK(occurrences(scatter_figure_svg(scatter), "nothing to show") == 1);
  scatter.series = {{"x & y",
                     {{.x = 1,
                       .y = 100,
                       .x_low = 0.9,
                       .x_high = 1.1,
                       .y_low = 90,
                       .y_high = 110,
                       .hollow = true}}}};
  scatter.hollow_name = "hollow";
  const std::string svg = scatter_figure_svg(scatter);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<circle") == 3);  // a hollow point is two, the legend has one more

  PartsFigure parts;
  parts.title = "parts";
  CHECK(xml_problem(parts_figure_svg(parts)) == "");
  parts.part_names = {"a", "b", "c"};
  parts.rows = {{"row <1>", {-1, 2.5, -0.25}}, {"row 2", {0, 0, 0}}};
  const std::string bars = parts_figure_svg(parts);
  CHECK(xml_problem(bars) == "");
  CHECK(occurrences(bars, "+1.2") + occurrences(bars, "+1.3") == 1);  // the sum, 1.25
  parts.max_rows = 1;
  CHECK(occurrences(parts_figure_svg(parts), "the first 1 of 2") == 1);
}

}  // namespace
}  // namespace schedlab
