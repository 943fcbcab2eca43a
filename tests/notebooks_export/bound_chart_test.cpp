// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/bound_chart.hpp"

#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

using namespace schedlab::literals;

/// One device that runs from 4 to 10 us, after waiting for its host.
[[nodiscard]] Attribution waiting_then_busy() {
  Attribution made;
  made.makespan = 10us;
  const auto at = [](Duration time) { return Time{time}; };
  made.spans = {{DeviceId{0}, DeviceBound::host_bound, at(0us), at(4us), TaskId{0}},
                {DeviceId{0}, DeviceBound::device_bound, at(4us), at(10us), TaskId{0}}};
  made.path = {{PathBound::host, at(0us), at(4us)}, {PathBound::device, at(4us), at(10us)}};
  made.bins = {{at(0us), at(5us), {1us, 4us}, {1us, 4us}}, {at(5us), at(10us), {5us}, {5us}}};
  return made;
}

TEST_CASE("A bound chart has a track per host and device, and names of any content are safe") {
  Trace trace;
  trace.ended = Time{10us};
  trace.hosts = {{HostId{0}, 0, HostCall::launch(StreamId{0}, TaskId{0}), Time{}, Time{4us}, {}}};
  const std::string svg = bound_chart_svg(
      waiting_then_busy(), trace, {.title = "a < b & c", .hosts = {"<host>"}, .devices = {"dev"}});
  CHECK(testing::xml_problem(svg).empty());
  CHECK(svg.find("a &lt; b &amp; c") != std::string::npos);
  CHECK(svg.find("&lt;host&gt;") != std::string::npos);
  CHECK(svg.find("waits for the host") != std::string::npos);
}

TEST_CASE("A bound chart of a trace without host calls, and of an empty one, is a picture too") {
  const BoundChartNames names{.title = "t", .hosts = {"host 0"}, .devices = {"dev"}};
  const std::string without = bound_chart_svg(waiting_then_busy(), Trace{}, names);
  CHECK(testing::xml_problem(without).empty());
  CHECK(without.find("host 0") == std::string::npos);
  CHECK(testing::xml_problem(bound_chart_svg(Attribution{}, Trace{}, names)).empty());
}

}  // namespace
}  // namespace schedlab
