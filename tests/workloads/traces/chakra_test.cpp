// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/traces/chakra_text.hpp"
#include "workloads/formats/graph_file.hpp"
#include "workloads/traces/chakra_ranks.hpp"
#include "workloads/traces/protobuf.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using testing::chakra_collective;
using testing::chakra_trace;
using testing::ChakraNodeText;

ForeignGraph read(const std::string& text) {
  return read_foreign_graph(text, "trace.0.et");
}

std::uint64_t problem(const ForeignGraph& graph, const std::string& name) {
  const auto found = graph.problems.entries().find(name);
  return found == graph.problems.entries().end() ? 0 : found->second.count;
}

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST_CASE("wire format: every type of field, and what is none is damaged") {
  // Field 1: varint 300 = 0b10'0101100 -> AC 02; field 2: eight bytes; field 3: "ab"; 4: four bytes
  const std::string message(
      "\x08\xAC\x02\x11\x01\x00\x00\x00\x00\x00\x00\x80\x1A\x02\x61\x62"
      "\x25\xFF\x00\x00\x00",
      21);
  detail::WireReader reader{message};
  detail::WireField field;
  REQUIRE(reader.next(field));
  CHECK(field.number == 1);
  CHECK(field.value == 300);
  REQUIRE(reader.next(field));
  CHECK(field.value == 0x8000000000000001ULL);
  REQUIRE(reader.next(field));
  CHECK(field.bytes == "ab");
  REQUIRE(reader.next(field));
  CHECK(field.value == 255);
  CHECK_FALSE(reader.next(field));
  CHECK_FALSE(reader.damaged());
  const auto damaged = [](std::string_view bytes) {
    detail::WireReader read{bytes};
    detail::WireField ignored;
    while (read.next(ignored)) {
    }
    return read.damaged();
  };
  CHECK(damaged("\x08"));                           // a tag without its number
  CHECK(damaged(std::string_view{"\x00\x01", 2}));  // field 0
  CHECK(damaged("\x1A\x05\x61"));                   // five bytes, of which there is one
  CHECK(damaged("\x0B"));                           // a group
  CHECK(damaged("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"));  // 70 bits
  CHECK(damaged("\x1A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));  // 2^64 - 1 bytes
  // Every prefix ends within a field or between two; none is read beyond its end.
  for (std::size_t size = 0; size <= message.size(); ++size) {
    const bool whole = size == 0 || size == 3 || size == 12 || size == 16 || size == 21;
    CHECK(damaged(std::string_view{message}.substr(0, size)) != whole);
  }
}

TEST_CASE("binary chakra trace: times, dependencies and kinds of nodes") {
  const ForeignGraph foreign =
      read(chakra_trace({{.id = 5,
                          .name = "op",
                          .duration_us = 7,
                          .attributes = testing::flag_attribute("is_cpu_op", true)},
                         {.id = 6, .name = "gemm", .needs = {5}, .duration_us = 12},
                         // 2e6 operations on 4e3 bytes, without a time
                         {.id = 7,
                          .name = "layer",
                          .needs = {6, 99},
                          .attributes = testing::integer_attribute("num_ops", 2'000'000) +
                                        testing::integer_attribute("tensor_size", 4'000)},
                         {.id = 8,
                          .name = "load",
                          .type = 2,
                          .attributes = testing::integer_attribute("tensor_size", 64)},
                         {.id = 9, .name = "send", .type = 5, .needs = {7}},
                         chakra_collective(10, 0, 1024, "", {7}, 30)}));
  CHECK(foreign.format == ForeignFormat::chakra_binary);
  const TaskGraph& graph = foreign.graph;
  REQUIRE(graph.task_count() == 6);
  CHECK_FALSE(graph.has_ranks());
  CHECK(graph.operation(graph.find("op#5")).kind == TaskKind::host);
  CHECK(graph.fixed_duration(graph.find("gemm#6")) == 12us);
  const Operation& layer = graph.operation(graph.find("layer#7"));
  CHECK(layer.kind == TaskKind::gemm);
  CHECK(layer.flops() == Flops{2e6});
  CHECK(layer.bytes_read() == Bytes{4'000});
  CHECK(graph.operation(graph.find("load#8")).bytes_read() == Bytes{64});
  CHECK(graph.fixed_duration(graph.find("collective#10")) == 30us);
  CHECK(graph.edge_count() == 4);                      // 5 -> 6, 6 -> 7, 7 -> 9, 7 -> 10
  CHECK(problem(foreign, "unknown_dependency") == 1);  // 99
  CHECK(problem(foreign, "message_without_duration") == 1);
  CHECK(problem(foreign, "collective_of_one_rank") == 1);
}

TEST_CASE("binary chakra trace: what is damaged is counted or refused, by where it is") {
  const std::string good = chakra_trace({{.id = 1, .name = "a"}, {.id = 2, .name = "b"}});
  CHECK(problem(read(good + testing::delimited("\xFF\xFF")), "unreadable_node") == 1);
  // A name that is no UTF-8 stays readable.
  CHECK(read(chakra_trace({{.id = 1, .name = "a\xFF"}})).graph.name(TaskId{0}) == "a?#1");
  CHECK(refusal(good.substr(0, good.size() - 3)).find("behind 1 nodes") != std::string::npos);
  CHECK(refusal(testing::delimited(testing::bytes_field(1, "0.0.4"))).find("no task") !=
        std::string::npos);
  CHECK(refusal(chakra_trace(
                    {{.id = 1, .name = "a", .needs = {2}}, {.id = 2, .name = "b", .needs = {1}}}))
            .find("cycle") != std::string::npos);
  const std::string text_number = testing::text_attribute("num_ops", "many");
  CHECK(problem(read(chakra_trace({{.id = 1, .name = "a", .attributes = text_number}})),
                "unreadable_field: num_ops") == 1);
  CHECK(problem(read(chakra_trace({{.id = 1, .name = "a"}, {.id = 1, .name = "b"}})),
                "duplicate_id") == 1);
  // Files of other formats are not taken for one.
  for (const char* other : {"{\n  \"tasks\": []}", "5\n0 1 0\n", "digraph {\n}", "", "\n\n"}) {
    CHECK(foreign_format(other, "f") == ForeignFormat::none);
  }
}

struct Ranks {
  testing::TemporaryFolder folder;
  std::vector<std::filesystem::path> files;

  explicit Ranks(const std::vector<std::vector<ChakraNodeText>>& ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      files.push_back(folder.path() / fmt::format("job.{}.et", rank));
      write_file_atomically(files.back(), chakra_trace(ranks[rank]));
    }
  }
};

/// Work of `work_us`, then an all-reduce among all, then one of a group of its own.
std::vector<ChakraNodeText> one_rank(std::uint64_t work_us,
                                     const std::string& group,
                                     std::uint64_t collective_us) {
  return {{.id = 1, .name = "work", .duration_us = work_us},
          chakra_collective(2, 0, 1000, "", {1}, collective_us),
          {.id = 3, .name = "more", .needs = {2}, .duration_us = 5},
          chakra_collective(4, 2, 500, group, {3}, 8)};
}

TEST_CASE("binary chakra traces of several ranks run as one job, joined by their collectives") {
  // Rank 0 arrives at 10 us and waits until rank 3 arrives at 40 us; the collective then takes the
  // 6 us that it took rank 3.
  const Ranks ranks(
      {one_rank(10, "a", 36), one_rank(20, "a", 26), one_rank(30, "b", 16), one_rank(40, "b", 6)});
  const ChakraRanks job = read_chakra_ranks(files_of_ranks(ranks.folder.path() / "job.*.et"));
  CHECK(job.files.size() == 4);
  const TaskGraph& graph = job.joined.graph;
  REQUIRE(graph.rank_count() == 4);
  REQUIRE(graph.collectives().size() == 3);  // of all, of a, of b
  Platform platform = ideal_platform();
  platform.ranks = 4;
  CHECK(check(graph, platform, job.plan).empty());
  const Trace trace = simulate({graph, platform, CostTable(graph, platform)}, job.plan);
  for (const TaskSpan& span : trace.tasks) {
    if (graph.name(span.task).ends_with("collective#2")) CHECK(span.ended == Time{46us});
    if (graph.name(span.task).ends_with("collective#4"))
      CHECK(span.ended == Time{59us});  // + 5 + 8
  }
  CHECK(trace.makespan() == 59us);
  CHECK(read_graph_file(ranks.folder.path() / "job.*.et").task_count() == 16);
}

TEST_CASE("ranks that differ, are missing or are twice there are refused with whose fault it is") {
  const auto says = [](auto call, const char* words) {
    try {
      call();
      return false;
    } catch (const InputError& error) {
      CAPTURE(error.what());
      return std::string{error.what()}.find(words) != std::string::npos;
    }
  };
  auto other = one_rank(10, "a", 5);
  other[1] = chakra_collective(2, 0, 2000, "", {1}, 5);
  const Ranks sizes({one_rank(10, "a", 5), other});
  CHECK(says([&] { (void)read_chakra_ranks(sizes.files); }, "all_reduce of 2000 bytes"));
  auto fewer = one_rank(10, "a", 5);
  fewer.pop_back();
  fewer.push_back(chakra_collective(9, 0, 1000, "", {3}));
  const Ranks counts({one_rank(10, "a", 5), fewer});
  CHECK(says([&] { (void)read_chakra_ranks(counts.files); }, "found 2 collectives"));
  CHECK(says([&] { (void)in_order_of_ranks({"x.0.et", "x.2.et"}); }, "no file of rank 1"));
  CHECK(says([&] { (void)in_order_of_ranks({"x.0.et", "y.0.et.gz"}); }, "each rank once"));
  CHECK(says([&] { (void)files_of_ranks(sizes.folder.path() / "none.*.et"); }, "no such files"));
  CHECK(in_order_of_ranks({"x.1.et", "x.0.et"}).front() == "x.0.et");
}

TEST_CASE("a collective without a time is what moves as many bytes, and that is said") {
  std::vector<std::vector<ChakraNodeText>> nodes;
  for (int rank = 0; rank < 2; ++rank) {
    nodes.push_back({chakra_collective(1, 3, 4096, "", {}), chakra_collective(2, 7, 64, "", {1})});
  }
  const Ranks ranks(nodes);
  const ChakraRanks job = read_chakra_ranks(ranks.files);
  const CollectiveTable& table = job.joined.graph.collectives();
  REQUIRE(table.size() == 2);
  CHECK(table.spec(CollectiveId{0}).op == CollectiveOp::all_gather);
  CHECK(table.spec(CollectiveId{0}).bytes == Bytes{4096});
  CHECK(table.spec(CollectiveId{1}).op == CollectiveOp::reduce_scatter);
  CHECK(problem(job.joined, "collective_as_another") == 1);
}

}  // namespace
}  // namespace schedlab
