// SPDX-License-Identifier: Apache-2.0
// Published execution graphs, counted a second time by code that shares nothing with the importer.
#include "sim/base/gzip.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/formats/graph_file.hpp"
#include "workloads/traces/execution_times.hpp"
#include "workloads/traces/foreign_graph.hpp"
#include "workloads/traces/kineto.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace schedlab {
namespace {

TEST_CASE("published execution traces are graphs of their leaves") {
  for (const char* name : {"hta/execution_trace_simple_add.et.json.gz",
                           "param/dlrm_8rank_v100/rank0.et.json.gz",
                           "param/dlrm_8rank_v100/rank1.et.json.gz"}) {
    CAPTURE(name);
    const auto path = testing::reference_data(name);
    if (!path) return;
    const nlohmann::json file = nlohmann::json::parse(read_file_or_gzip(*path));
    std::set<std::int64_t> parents;
    for (const auto& node : file.at("nodes")) parents.insert(node.at("parent").get<std::int64_t>());
    std::uint64_t leaves = 0;
    std::map<std::string, std::uint64_t> products;
    for (const auto& node : file.at("nodes")) {
      const std::string operation = node.at("name");
      if (parents.contains(node.at("id")) || operation.starts_with("##")) continue;
      ++leaves;
      if (operation == "aten::mm" || operation == "aten::addmm" || operation == "aten::bmm") {
        ++products[operation];
      }
    }
    const ForeignGraph foreign = read_foreign_graph(*path);
    CHECK(foreign.graph.task_count() == leaves);
    CHECK(foreign.graph.edge_count() > 0);
    std::map<std::string, std::uint64_t> gemms;
    for (const TaskId task : foreign.graph.tasks()) {
      const Operation& operation = foreign.graph.operation(task);
      if (operation.kind == TaskKind::gemm) ++gemms[operation.name];
    }
    CHECK(gemms == products);
    for (const auto& [problem, entry] : foreign.problems.entries()) {
      CHECK_MESSAGE(problem == "collective_without_duration", problem);
    }
    CHECK(read_graph_file(*path).task_count() == leaves);  // as any other graph file
  }
}

TEST_CASE("published execution traces fit the profiles of the same runs") {
  // Operators of both; annotations of the profiler itself (ProfilerStep) are in one of them only.
  for (const auto& [name, operators] :
       std::map<std::string, std::uint64_t>{{"hta/execution_trace_simple_add", 36},
                                            {"param/dlrm_8rank_v100/rank0", 1672},
                                            {"param/dlrm_8rank_v100/rank1", 1672}}) {
    CAPTURE(name);
    const auto trace = testing::reference_data(name + ".et.json.gz");
    const auto profile = testing::reference_data(name + ".json.gz");
    if (!trace || !profile) return;
    const ImportedTrace recorded = read_kineto(*profile);
    const TimedExecutionTrace joined = join_execution_trace(*trace, recorded);
    CHECK(joined.counts.operators == operators);
    CHECK(joined.counts.matched_by_order == operators);
    // All that were launched within the profile; 64 of rank 1 were launched before it began.
    const auto unlaunched = recorded.problems.entries().find("activity_without_launch");
    const std::uint64_t before =
        unlaunched == recorded.problems.entries().end() ? 0 : unlaunched->second.count;
    CHECK(joined.counts.attributed + before == joined.counts.activities);
    CHECK(joined.foreign.graph.edge_count() > 0);
  }
}

}  // namespace
}  // namespace schedlab
