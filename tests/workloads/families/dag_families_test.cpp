// SPDX-License-Identifier: Apache-2.0
#include "workloads/families/dag_families.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "tests/workloads/formats/graph_equal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace schedlab;
using schedlab::testing::difference;

namespace {

std::size_t count(const TaskGraph& graph, std::string_view operation) {
  std::size_t n = 0;
  for (const TaskId task : graph.tasks()) n += graph.operation(task).name == operation ? 1U : 0U;
  return n;
}

std::int64_t depth(const TaskGraph& graph) {
  const IdVector<TaskId, Duration> unit(graph.task_count(), Duration{1});
  return critical_path_length(graph, unit).count();
}

std::vector<std::string> predecessors(const TaskGraph& graph, std::string_view name) {
  std::vector<std::string> names;
  for (const TaskId task : graph.predecessors(graph.find(name))) names.push_back(graph.name(task));
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;
using Make = std::function<TaskGraph(const DagWeights&)>;

const std::vector<Make>& families() {
  static const std::vector<Make> all{[](const DagWeights& w) { return erdos_renyi(60, 0.1, w); },
                                     [](const DagWeights& w) { return fork_join(4, 7, w); },
                                     [](const DagWeights& w) { return cholesky(6, w); },
                                     [](const DagWeights& w) { return gaussian_elimination(9, w); },
                                     [](const DagWeights& w) { return fft(16, w); }};
  return all;
}

}  // namespace

TEST_CASE("Erdos-Renyi graphs have the edges of their probability") {
  CHECK(erdos_renyi(40, 0, {}).edge_count() == 0);
  CHECK(erdos_renyi(40, 1, {}).edge_count() == 40 * 39 / 2);
  CHECK(erdos_renyi(1, 0.5, {}).task_count() == 1);
  for (const double p : {0.001, 0.02, 0.3, 0.9}) {
    CAPTURE(p);
    const double pairs = 1000.0 * 999 / 2;
    const auto edges = static_cast<double>(erdos_renyi(1000, p, {.seed = 5}).edge_count());
    // Binomial: within five standard deviations.
    CHECK(std::abs(edges - pairs * p) < 5 * std::sqrt(pairs * p * (1 - p)));
  }
  // Every pair has the same chance: over 2000 seeds each of the 6 pairs of 4 tasks comes up as
  // often as the others, 600 times at 0.3, standard deviation 20.5.
  std::vector<int> hits(16, 0);
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const TaskGraph graph = erdos_renyi(4, 0.3, {.seed = seed});
    for (const TaskId task : graph.tasks()) {
      for (const TaskId next : graph.successors(task)) ++hits[task.value() * 4 + next.value()];
    }
  }
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = from + 1; to < 4; ++to) {
      CAPTURE(from);
      CAPTURE(to);
      CHECK(std::abs(hits[from * 4 + to] - 600) < 5 * 20.5);
    }
  }
}

TEST_CASE("fork-join stages have 2 * stages * width edges and meet in between") {
  for (const std::int64_t stages : {1, 3}) {
    for (const std::int64_t width : {1, 4}) {
      const TaskGraph graph = fork_join(stages, width, {});
      CHECK(graph.task_count() == static_cast<std::size_t>(stages * (width + 1) + 1));
      CHECK(graph.edge_count() == static_cast<std::size_t>(2 * stages * width));
      CHECK(depth(graph) == 2 * stages + 1);
    }
  }
  const TaskGraph graph = fork_join(2, 3, {});
  CHECK(predecessors(graph, "fork(1,0)") == Names{"branch(0,0)", "branch(0,1)", "branch(0,2)"});
  CHECK(predecessors(graph, "branch(1,2)") == Names{"fork(1,0)"});
}

TEST_CASE("Cholesky has the tasks and edges of the right-looking algorithm") {
  for (const std::size_t n : {1U, 2U, 3U, 4U, 8U}) {
    CAPTURE(n);
    const TaskGraph graph = cholesky(static_cast<std::int64_t>(n), {});
    const std::size_t pairs = n * (n - 1) / 2;
    const std::size_t triples = n < 3 ? 0 : n * (n - 1) * (n - 2) / 6;
    CHECK(count(graph, "potrf") == n);
    CHECK(count(graph, "trsm") == pairs);
    CHECK(count(graph, "syrk") == pairs);
    CHECK(count(graph, "gemm") == triples);
    CHECK(graph.edge_count() == 3 * pairs + 3 * triples);
    // potrf, trsm, syrk along the diagonal.
    CHECK(depth(graph) == static_cast<std::int64_t>(3 * n - 2));
  }
  const TaskGraph graph = cholesky(4, {});
  // Step tags are i * 4 + j.
  CHECK(predecessors(graph, "gemm(0,9)") == Names{"trsm(0,4)", "trsm(0,8)"});  // A21 -= A20 A10
  CHECK(predecessors(graph, "trsm(1,9)") == Names{"gemm(0,9)", "potrf(1,5)"});
  CHECK(predecessors(graph, "syrk(1,10)") == Names{"syrk(0,10)", "trsm(1,9)"});
  CHECK(predecessors(graph, "potrf(2,10)") == Names{"syrk(1,10)"});
}

TEST_CASE("Gaussian elimination has the published counts") {
  // Topcuoglu, Hariri and Wu show matrix size 5: 14 tasks.
  CHECK(gaussian_elimination(5, {}).task_count() == 14);
  CHECK(gaussian_elimination(5, {}).edge_count() == 19);
  for (const std::size_t m : {2U, 3U, 7U, 20U}) {
    CAPTURE(m);
    const TaskGraph graph = gaussian_elimination(static_cast<std::int64_t>(m), {});
    CHECK(graph.task_count() == (m * m + m - 2) / 2);
    CHECK(graph.edge_count() == m * (m - 1) / 2 + (m - 1) * (m - 2) / 2 + m - 2);
    CHECK(depth(graph) == static_cast<std::int64_t>(2 * (m - 1)));
  }
  CHECK(predecessors(gaussian_elimination(4, {}), "update(1,3)") ==
        Names{"pivot(1,1)", "update(0,3)"});
}

TEST_CASE("the Fourier transform has 2m - 1 calls and m log2 m butterflies") {
  // The published graph of 4 points: 15 tasks.
  CHECK(fft(4, {}).task_count() == 15);
  for (const std::size_t m : {2U, 4U, 16U, 64U}) {
    CAPTURE(m);
    const auto log = static_cast<std::size_t>(std::log2(static_cast<double>(m)));
    const TaskGraph graph = fft(static_cast<std::int64_t>(m), {});
    CHECK(count(graph, "call") == 2 * m - 1);
    CHECK(count(graph, "butterfly") == m * log);
    CHECK(graph.edge_count() == 2 * (m - 1) + 2 * m * log);
    // Every path is critical: all have a call per level of the tree, then a butterfly per level.
    CHECK(depth(graph) == static_cast<std::int64_t>(2 * log + 1));
    const IdVector<TaskId, Duration> unit(graph.task_count(), Duration{1});
    const IdVector<TaskId, Duration> spare = slack(graph, unit);
    CHECK(std::all_of(spare.begin(), spare.end(), [](Duration d) { return d == Duration{0}; }));
    // Every result depends on every call.
    CHECK(graph.predecessors(TaskId{static_cast<std::uint32_t>(graph.task_count() - 1)}).size() ==
          2);
  }
  CHECK_THROWS_AS((void)fft(12, {}), ContractViolation);
}

TEST_CASE("durations keep to the spread around their mean, and repeat with the seed") {
  for (const Make& make : families()) {
    const DagWeights weights{.seed = 3, .mean = Duration{1'000'000}, .heterogeneity = 0.25};
    const TaskGraph graph = make(weights);
    CHECK(graph.topologically_numbered());
    CHECK(difference(graph, make(weights)) == "");
    DagWeights other = weights;
    other.seed = 4;
    CHECK(difference(graph, make(other)) != "");
    for (const TaskId task : graph.tasks()) {
      const std::string& name = graph.operation(task).name;
      const double weight = name == "potrf" ? 1.0 / 6 : name == "trsm" || name == "syrk" ? 0.5 : 1;
      const auto duration = static_cast<double>(graph.fixed_duration(task).count());
      CHECK(duration >= weight * 750'000 - 1);
      CHECK(duration <= weight * 1'250'000 + 1);
    }
    DagWeights equal = weights;
    equal.heterogeneity = 0;
    const TaskGraph even = make(equal);
    CHECK(even.fixed_duration(TaskId{0}) ==
          Duration{even.operation(TaskId{0}).name == "potrf" ? 166'667 : 1'000'000});
  }
}

TEST_CASE("a communication-to-computation ratio puts a transfer on every edge") {
  for (const Make& make : families()) {
    const DagWeights silent{.seed = 3, .mean = Duration{1'000'000}, .heterogeneity = 0};
    DagWeights chatty = silent;
    chatty.ccr = 2.5;
    const TaskGraph without = make(silent);
    const TaskGraph with = make(chatty);
    CHECK(with.task_count() == without.task_count() + without.edge_count());
    CHECK(with.edge_count() == 2 * without.edge_count());
    CHECK(with.topologically_numbered());
    for (const TaskId task : with.tasks()) {
      if (with.operation(task).task_class != TaskClass::transfer) continue;
      CHECK(with.fixed_duration(task) == Duration{2'500'000});
      CHECK(with.predecessors(task).size() == 1);
      CHECK(with.successors(task).size() == 1);
    }
  }
}

TEST_CASE("families that are too large are refused before they are made") {
  CHECK_THROWS_AS((void)erdos_renyi(1'000'000, 0.5, {}), InfeasibleError);
  CHECK_THROWS_AS((void)cholesky(30'000, {}), InfeasibleError);
  CHECK_THROWS_AS((void)fork_join(10'000'000, 10'000'000, {}), InfeasibleError);
  CHECK_THROWS_AS((void)gaussian_elimination(32'000, {}), InfeasibleError);
  CHECK_THROWS_AS((void)fft(std::int64_t{1} << 40, {}), InfeasibleError);
  CHECK_THROWS_AS((void)fork_join(1'000'000, 10, {.mean = Duration{1'000'000'000'000}}),
                  InfeasibleError);
  CHECK_THROWS_AS((void)erdos_renyi(10, 1.5, {}), ContractViolation);
}
