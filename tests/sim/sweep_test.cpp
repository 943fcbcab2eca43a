// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep.hpp"

#include "sim/base/error.hpp"
#include "sim/sweep/parallel_rows.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

TEST_CASE("rows are committed once each and in order, on any number of threads") {
  for (const unsigned jobs : {1U, 2U, 7U}) {
    CAPTURE(jobs);
    constexpr std::uint64_t count = 20'000;
    std::vector<std::uint64_t> committed;
    std::atomic<bool> wrong_worker{false};
    const std::uint64_t done =
        parallel_rows(count, jobs, nullptr, [&](RowRange rows, unsigned worker) {
          if (worker >= jobs) wrong_worker = true;
          return [&committed, rows] {
            for (std::uint64_t i = rows.first; i < rows.last; ++i) committed.push_back(i);
          };
        });
    CHECK(done == count);
    CHECK(!wrong_worker);
    REQUIRE(committed.size() == count);
    bool in_order = true;
    for (std::uint64_t i = 0; i < count; ++i) in_order = in_order && committed[i] == i;
    CHECK(in_order);
  }
}

TEST_CASE("a stop request ends the run after the ranges that were begun") {
  StopFlag stop{false};
  std::uint64_t committed = 0;
  const std::uint64_t done = parallel_rows(1'000'000'000, 2, &stop, [&](RowRange rows, unsigned) {
    return [&, rows] {
      committed += rows.last - rows.first;
      stop = true;
    };
  });
  CHECK(done == committed);
  CHECK(done >= 1);
  CHECK(done < 1'000'000'000);
}

TEST_CASE("what the work throws reaches the caller") {
  CHECK_THROWS_AS(parallel_rows(100,
                                2,
                                nullptr,
                                [](RowRange rows, unsigned) -> Commit {
                                  if (rows.last > 50) throw std::domain_error("row 50");
                                  return [] {};
                                }),
                  std::domain_error);
  CHECK(parallel_rows(0, 2, nullptr, [](RowRange, unsigned) -> Commit { return [] {}; }) == 0);
}

TEST_CASE("a typed sweep has one row per combination, the last axis fastest") {
  const Table table = Sweep{Axis{"layers", {2, 4}}, Axis{"policy", {"heft", "peft", "random"}}}.run(
      [](int layers, std::string_view policy) {
        return Row{{"cost", std::int64_t{layers * 10 + static_cast<int>(policy.size())}}};
      },
      3);
  REQUIRE(table.columns.size() == 3);
  CHECK(table.columns[0].name == "layers");
  CHECK(table.columns[0].role == ColumnRole::axis);
  CHECK(table.columns[2].name == "cost");
  REQUIRE(table.rows.size() == 6);
  CHECK(table.rows[2] ==
        std::vector<Cell>{std::int64_t{2}, std::string{"random"}, std::int64_t{26}});
  CHECK(table.rows[3] == std::vector<Cell>{std::int64_t{4}, std::string{"heft"}, std::int64_t{44}});
}

TEST_CASE("rows of a typed sweep must agree in their columns") {
  const auto uneven = [](int x) { return x == 0 ? Row{{"a", 1.0}} : Row{{"b", 1.0}}; };
  CHECK_THROWS_AS(static_cast<void>(Sweep{Axis{"x", {0, 1}}}.run(uneven)), ContractViolation);
}

}  // namespace
}  // namespace schedlab
