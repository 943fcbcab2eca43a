// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/csv.hpp"

#include "notebooks_export/axis.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace literals;

TEST_CASE("Fields are quoted where RFC 4180 asks for it") {
  Table table;
  table.columns = {{"plain", ColumnRole::axis}, {"with, comma", ColumnRole::metric}};
  table.rows = {{std::int64_t{-3}, 0.1},
                {std::string{"say \"hi\""}, std::monostate{}},
                {std::string{"two\nlines"}, std::string{}}};
  CHECK(table_csv(table) ==
        "plain,\"with, comma\"\n"
        "-3,0.1\n"
        "\"say \"\"hi\"\"\",\n"
        "two; lines,\"\"\n");
}

TEST_CASE("A text that a spreadsheet would calculate is one no more; numbers stay") {
  Table table;
  table.columns = {{"=1+1", ColumnRole::axis}};
  const auto line = [&](const Cell& cell) {
    table.rows = {{cell}};
    const std::string text = table_csv(table);
    return text.substr(text.find('\n') + 1);
  };
  CHECK(table_csv(table) == "'=1+1\n");
  CHECK(line(std::string{"=HYPERLINK(\"http://x\",\"y\")"}) ==
        "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"\n");
  CHECK(line(std::string{"@SUM(A1)"}) == "'@SUM(A1)\n");
  CHECK(line(std::string{"+cmd|' /C calc'!A0"}) == "'+cmd|' /C calc'!A0\n");
  CHECK(line(std::string{"-2+3"}) == "'-2+3\n");
  CHECK(line(std::string{"\t=1+1"}) == "'\t=1+1\n");
  CHECK(line(std::string{"\r=1+1"}) == "'=1+1\n");
  for (const char* number : {"-1.5", "+3", "-1e-3"}) {
    CHECK(line(std::string{number}) == std::string{number} + "\n");
  }
  CHECK(line(std::string{"-"}) == "-\n");
  CHECK(line(-1.5) == "-1.5\n");
  CHECK(line(std::int64_t{-3}) == "-3\n");
  CHECK(line(std::string{"no room\n  try fewer\r\n"}) == "no room; try fewer\n");
}

[[nodiscard]] TraceDocument one_task() {
  TraceDocument document;
  document.tasks.push_back(
      {.name = "a,b", .operation = "op", .kind = TaskKind::gemm, .share = 0.5});
  document.streams.push_back({DeviceId{0}, 0, "s"});
  document.devices.push_back("d");
  document.hosts.push_back("h");
  document.trace.tasks = {
      {TaskId{0}, StreamId{0}, HostId{0}, DeviceId{0}, Time{1us}, Time{2us}, Time{3us + 1_ps}}};
  document.trace.ended = Time{4us};
  return document;
}

TEST_CASE("utilization.csv has one line per change") {
  CHECK(utilization_csv(one_task()) ==
        "time_us,time_ps,utilization,running,critical\n"
        "0,0,0,0,0\n"
        "2,2000000,0.5,1,0\n"
        "3.000001,3000001,0,0,0\n"
        "4,4000000,0,0,0\n");
}

TEST_CASE("Too many changes are replaced by means over slices") {
  CHECK(utilization_csv(one_task(), 2) ==
        "time_us,time_ps,utilization,running,critical\n"
        "0,0,0,0,0\n"
        "2,2000000,0.25,0.5,0\n");  // half of 2..4
}

TEST_CASE("The CSV of a trace has exact times") {
  CHECK(trace_csv(one_task()) ==
        "task,name,operation,kind,critical,device,stream,stream_name,host,"
        "submitted_ps,started_ps,ended_ps,duration_us\n"
        "0,\"a,b\",op,gemm,false,d,0,s,0,1000000,2000000,3000001,1.000001\n");
}

TEST_CASE("Times, sizes and numbers read well") {
  CHECK(readable(Duration{0}) == "0");
  CHECK(readable(1234567_ps) == "1.235 us");
  CHECK(readable(Duration{12ms}) == "12 ms");
  CHECK(readable(Bytes{1536}) == "1.5 KiB");
  CHECK(readable(0.1 + 0.2) == "0.3");
  CHECK(readable(12345.0) == "12345");
  CHECK(readable(1e9) == "1e+09");
  CHECK(readable_share(0.4321) == "43 %");
  CHECK(readable_share(0.004) == "0.4 %");
}

TEST_CASE("Ticks are round and inside their range") {
  CHECK(linear_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(linear_ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(logarithmic_ticks(1, 100) == std::vector<double>{1, 2, 5, 10, 20, 50, 100});
  CHECK(logarithmic_ticks(1, 1e4).size() == 5);
}

}  // namespace
}  // namespace schedlab
