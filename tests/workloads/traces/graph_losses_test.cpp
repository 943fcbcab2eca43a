// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/graph_losses.hpp"

#include "tests/workloads/traces/imported_trace_maker.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

using testing::ImportedTraceMaker;

/// Launches of the graph a (10 us), b (20 us), c (5 us) in stream 7, each 4 us behind its call.
class Program {
 public:
  /// `recorded`: which of "abc" the profile has.
  Program& launch(int called, std::string_view recorded, std::string_view site = "replay") {
    maker_.host_operator(site, called - 1, called + 11);
    const auto correlation =
        maker_.call(CallKind::launch_graph, "cudaGraphLaunch", called, called + 10);
    const auto node = [&](std::string_view name, int start, int end) {
      if (recorded.find(name) == std::string_view::npos) return;
      maker_.activity(name, 7, called + 4 + start, called + 4 + end, correlation);
    };
    node("a", 0, 10);
    node("b", 12, 32);
    node("c", 33, 38);
    return *this;
  }
  ImportedTraceMaker& maker() { return maker_; }
  [[nodiscard]] ImportedTrace done() {
    ImportedTrace trace = std::move(maker_).done();
    find_problems(trace);
    return trace;
  }

 private:
  ImportedTraceMaker maker_;
};

std::uint64_t counted(const ImportedTrace& trace, const char* problem) {
  const auto found = trace.problems.entries().find(problem);
  return found == trace.problems.entries().end() ? 0 : found->second.count;
}

/// [start, end] in us of the rows that were not recorded.
std::vector<std::pair<double, double>> assumed(const ImportedTrace& trace) {
  std::vector<std::pair<double, double>> rows;
  for (const DeviceRow& row : trace.device_rows) {
    if (row.assumed) rows.emplace_back(to_us(row.started), to_us(row.ended));
  }
  return rows;
}

using Rows = std::vector<std::pair<double, double>>;

TEST_CASE("launches that lack nodes are found, and where they leave a device unknown") {
  const ImportedTrace trace =
      Program{}.launch(100, "abc").launch(200, "ac").launch(300, "").launch(400, "abc").done();
  REQUIRE(trace.graph_losses.size() == 2);
  const GraphLoss& part = trace.graph_losses[0];
  CHECK(part.recorded == 2);
  CHECK(part.expected == 3);
  REQUIRE(part.missing.size() == 1);
  CHECK(trace.texts[part.missing.front()] == "b");
  CHECK(to_us(part.from) == 200);
  CHECK(to_us(part.to) == 404);  // nothing else shows when the graph had ended
  const GraphLoss& none = trace.graph_losses[1];
  CHECK(none.recorded == 0);
  CHECK(none.expected == 3);
  CHECK(none.stream == 7);
  CHECK(to_us(none.from) == 300);
  CHECK(to_us(none.to) == 404);
  CHECK(counted(trace, "graph_launch_under_recorded") == 2);
  CHECK(trace.problems.entries().at("graph_launch_under_recorded").severity == Severity::data_loss);
  CHECK(counted(trace, "launch_without_activity") == 0);  // not counted twice
}

TEST_CASE("what is missing is filled in from siblings") {
  Program program;
  program.launch(100, "abc").launch(200, "ac").launch(300, "").launch(400, "abc");
  ImportedTrace trace = program.done();
  fill_graph_launches(trace);
  CHECK(assumed(trace) == Rows{{216, 236}, {304, 314}, {316, 336}, {337, 342}});
  CHECK(trace.graph_losses[0].filled == 1);
  CHECK(trace.graph_losses[1].filled == 3);
  for (const GraphLoss& loss : trace.graph_losses) CHECK_FALSE(loss.open());
  // What was filled in is as whole as what it was made of.
  CHECK(find_graph_losses(trace).empty());
}

TEST_CASE("what is filled in does not reach into what its stream does next") {
  Program program;
  program.launch(100, "abc").launch(300, "");
  program.maker().kernel("next", 7, 312, 323, 330);
  ImportedTrace trace = program.done();
  REQUIRE(trace.graph_losses.size() == 1);
  CHECK(to_us(trace.graph_losses[0].to) == 323);
  fill_graph_launches(trace);
  // 38 us in the 19 that there are.
  CHECK(assumed(trace) == Rows{{304, 309}, {310, 320}, {320, 323}});
}

TEST_CASE("one recorded launch of many is enough; none is not") {
  Program program;
  program.launch(100, "").launch(200, "").launch(300, "abc").launch(400, "");
  ImportedTrace trace = program.done();
  CHECK(trace.graph_losses.size() == 3);
  fill_graph_launches(trace);
  CHECK(assumed(trace).size() == 9);

  ImportedTrace empty = Program{}.launch(100, "").launch(200, "").done();
  CHECK(empty.graph_losses.size() == 2);
  CHECK(empty.graph_losses[0].expected == 0);
  CHECK(empty.graph_losses[0].stream == -1);
  fill_graph_launches(empty);
  CHECK(assumed(empty).empty());
  CHECK(empty.graph_losses[0].open());
}

TEST_CASE("other graphs are no losses") {
  // From another site; a part that comes again; of a graph with a number of its own.
  CHECK(Program{}.launch(100, "abc", "one").launch(200, "a", "two").done().graph_losses.empty());
  CHECK(Program{}
            .launch(100, "abc")
            .launch(200, "ab")
            .launch(300, "abc")
            .launch(400, "ab")
            .done()
            .graph_losses.empty());
  Program numbered;
  numbered.launch(100, "abc").launch(200, "ab").launch(300, "ab");
  ImportedTrace trace = numbered.done();
  for (DeviceRow& row : trace.device_rows) row.graph = row.started < Time{200us} ? 1 : 2;
  CHECK(find_graph_losses(trace).empty());
  for (DeviceRow& row : trace.device_rows) row.graph = 1;
  CHECK(find_graph_losses(trace).size() == 2);  // of one graph each lacks a node
}

TEST_CASE("two graphs of one site are told apart by their place in the iteration") {
  Program program;
  for (const int begin : {100, 300, 500}) {
    program.maker().iteration(begin, begin + 190);
    program.launch(begin + 10, "abc").launch(begin + 100, begin == 300 ? "" : "ab");
  }
  ImportedTrace trace = program.done();
  REQUIRE(trace.graph_losses.size() == 1);
  CHECK(trace.graph_losses[0].expected == 2);
  fill_graph_launches(trace);
  CHECK(assumed(trace) == Rows{{404, 414}, {416, 436}});
}

}  // namespace
}  // namespace schedlab
