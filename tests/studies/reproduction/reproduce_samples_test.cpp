// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "studies/reproduction/outcome.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace schedlab {
namespace {

/// layers x batch x (fast with a knob of two values, slow). Makespans: slow 100 layers; fast, with
/// knob k, that times (layers + k + batch / 100) / 20. Nothing here is symmetric.
Table two_policies() {
  Table table;
  for (const char* axis : {"layers", "batch", "policy", "k"}) {
    table.columns.push_back({axis, ColumnRole::axis});
  }
  for (const char* metric :
       {"makespan_us", "streams", "bound", "gap", "host_bound_share", "utilization", "findings"}) {
    table.columns.push_back({metric, ColumnRole::metric});
  }
  const auto row =
      [&](std::int64_t layers, std::int64_t batch, const char* policy, Cell k, double makespan) {
        table.rows.push_back({layers,
                              batch,
                              std::string{policy},
                              std::move(k),
                              makespan,
                              2 * layers + 1,
                              std::string{"work"},
                              1.5,
                              0.25,
                              0.5,
                              std::int64_t{0}});
      };
  for (const std::int64_t layers : {2, 4, 8}) {
    for (const std::int64_t batch : {100, 200}) {
      const double slow = 100.0 * static_cast<double>(layers);
      row(layers, batch, "slow", {}, slow);
      for (const std::int64_t k : {0, 1}) {
        const double share =
            (static_cast<double>(layers + k) + static_cast<double>(batch) / 100) / 20;
        row(layers, batch, "fast", k, slow * share);
      }
    }
  }
  return table;
}

RunSelector only(const std::string& axis, Cell value) {
  return {{{axis, {std::move(value)}}}};
}

Measure ratio() {
  return {.kind = Measure::Kind::ratio,
          .metric = "makespan_us",
          .runs = {only("policy", std::string{"fast"}), only("policy", std::string{"slow"})},
          .along = {},
          .per = {}};
}

std::multiset<double> values_of(const ClaimSamples& samples) {
  std::multiset<double> values;
  for (const ClaimSample& sample : samples.samples) values.insert(sample.value);
  return values;
}

TEST_CASE("A ratio pairs runs that agree in all axes both have; a knob of one side stays open") {
  const Table table = two_policies();
  const ClaimSamples found = collect_samples(table, ratio(), {});
  // 3 layers x 2 batches x 2 knobs.
  CHECK(found.samples.size() == 12);
  CHECK(found.missing == 0);
  const ClaimSamples at_8 = collect_samples(table, ratio(), only("layers", std::int64_t{8}));
  // (8 + {0, 1} + {1, 2}) / 20.
  const std::multiset<double> expected{9.0 / 20, 10.0 / 20, 10.0 / 20, 11.0 / 20};
  const auto values = values_of(at_8);
  CHECK(std::equal(values.begin(), values.end(), expected.begin(), [](double a, double b) {
    return a == doctest::Approx(b);
  }));
}

TEST_CASE("A trend compares the ends of each line; knobs and other axes do not mix") {
  const Table table = two_policies();
  Measure measure = ratio();
  measure.kind = Measure::Kind::trend;
  measure.along = "layers";
  const ClaimSamples found = collect_samples(table, measure, {});
  // A line per batch and knob: (8 + k + b) / (2 + k + b) with k + b = 1, 2, 2, 3.
  const std::multiset<double> expected{11.0 / 5, 10.0 / 4, 10.0 / 4, 9.0 / 3};
  const auto values = values_of(found);
  REQUIRE(values.size() == 4);
  CHECK(std::equal(values.begin(), values.end(), expected.begin(), [](double a, double b) {
    return a == doctest::Approx(b);
  }));
}

TEST_CASE(
    "An order takes the shortest run of each place and the smallest step between neighbours") {
  const Table table = two_policies();
  Measure measure;
  measure.kind = Measure::Kind::order;
  measure.runs = {only("policy", std::string{"slow"}), only("policy", std::string{"fast"})};
  const ClaimSamples found = collect_samples(table, measure, only("batch", std::int64_t{100}));
  // slow over the better knob 0: 20 / (layers + 1).
  const std::multiset<double> expected{20.0 / 9, 20.0 / 5, 20.0 / 3};
  const auto values = values_of(found);
  REQUIRE(values.size() == 3);
  CHECK(std::equal(values.begin(), values.end(), expected.begin(), [](double a, double b) {
    return a == doctest::Approx(b);
  }));
}

TEST_CASE("A value may be divided by a formula of columns") {
  const Table table = two_policies();
  Measure measure;
  measure.metric = "streams";
  measure.runs = {only("policy", std::string{"fast"})};
  measure.per = {{2.0, std::string{"layers"}}, {1.0}};
  for (const ClaimSample& sample : collect_samples(table, measure, {}).samples) {
    CHECK(sample.value == 1.0);
  }
}

TEST_CASE("Runs without a result or with findings do not take part and are counted") {
  Table table = two_policies();
  table.rows[0][4] = Cell{};                // slow, layers 2, batch 100
  table.rows.back()[10] = std::int64_t{1};  // fast, layers 8, batch 200, knob 1
  const ClaimSamples found = collect_samples(table, ratio(), {});
  CHECK(found.missing == 2);
  CHECK(found.samples.size() == 12 - 2 - 1);
}

PublishedPoint number(double value) {
  PublishedPoint point;
  point.text = "a number";
  point.value = value;
  return point;
}

TEST_CASE("A number or a range is met within 5 %, a limit of words beyond it alone") {
  CHECK(is_met(number(0.8), 0.84));
  CHECK_FALSE(is_met(number(0.8), 0.8401));
  CHECK(is_met(number(0.8), 0.761));
  // A printed range has the same 5 % at its limits: 0.475 to 0.63.
  PublishedPoint range;
  range.low = 0.5;
  range.high = 0.6;
  CHECK(is_met(range, 0.476));
  CHECK_FALSE(is_met(range, 0.474));
  CHECK(is_met(range, 0.629));
  CHECK_FALSE(is_met(range, 0.631));
  // Limits of words have none.
  PublishedPoint words;
  words.below = 0.6;
  CHECK(is_met(words, 0.599));
  CHECK_FALSE(is_met(words, 0.6));
}

TEST_CASE("Quartiles are samples; the median is the lower of the middle two") {
  const Spread spread = spread_of({4, 1, 3, 2});
  CHECK(spread.min == 1);
  CHECK(spread.lower_quartile == 1);
  CHECK(spread.median == 2);
  CHECK(spread.upper_quartile == 3);
  CHECK(spread.max == 4);
  CHECK(spread_of({}).count == 0);
}

TEST_CASE(
    "The status follows the median, the spread and the limits, and a miss has its statistics") {
  const Table table = two_policies();
  Claim claim;
  claim.id = "a";
  claim.measure = ratio();
  // Ratios: (l + k + b) / 20 with l + k + b in {3, 4, 4, 5, 5, 6, 6, 7, 9, 10, 10, 11}: median 6.
  const auto status = [&](double published) {
    claim.published = {number(published)};
    return compare(claim, claim.published.front(), table).status;
  };
  CHECK(status(6.0 / 20) == ClaimStatus::within);
  CHECK(status(11.0 / 20) == ClaimStatus::in_part);
  CHECK(status(8.0 / 20) == ClaimStatus::in_part);  // no sample, but some on both sides
  CHECK(status(0.9) == ClaimStatus::missed);

  claim.published = {number(0.9)};
  const Outcome missed = compare(claim, claim.published.front(), table);
  CHECK(missed.share_met == 0);
  CHECK(*missed.error == doctest::Approx(6.0 / 18 - 1));
  // layers moves the median most: from 4 / 20 at 2 to 10 / 20 at 8.
  REQUIRE(!missed.effects.empty());
  CHECK(missed.effects.front().axis == "layers");
  CHECK(missed.effects.front().effect == doctest::Approx(2.5));
  CHECK(missed.statistics.find("Moved most by layers (median 0.2 at 2, 0.5 at 8)") !=
        std::string::npos);
  CHECK(missed.statistics.find("fast: 1.5 times its bound, which is work") != std::string::npos);
}

TEST_CASE("What is said of every case is judged by all samples, with the shares along its axis") {
  const Table table = two_policies();
  Claim claim;
  claim.id = "a";
  claim.measure = ratio();
  claim.by = "layers";
  PublishedPoint faster;
  faster.text = "faster";
  faster.judged_by = JudgedBy::all;
  const auto judged = [&](double below) {
    faster.below = below;
    claim.published = {faster};
    return compare(claim, claim.published.front(), table);
  };
  // Samples are {3, 4, 4, 5} / 20 at 2 layers, {5, 6, 6, 7} / 20 at 4, {9, 10, 10, 11} / 20 at 8.
  CHECK(judged(11.5 / 20).status == ClaimStatus::within);
  const Outcome part = judged(10.5 / 20);  // the median, 6 / 20, meets it
  CHECK(part.status == ClaimStatus::in_part);
  CHECK(part.share_met == doctest::Approx(11.0 / 12));
  CHECK_FALSE(part.error.has_value());
  CHECK(met_text(part) == "92 % (layers 2: 100 %, 4: 100 %, 8: 75 %)");
  CHECK(judged(2.5 / 20).status == ClaimStatus::missed);
  // The error is that of the worst sample: 11 / 20 over 10 / 20.
  PublishedPoint range;
  range.low = 3.0 / 20;
  range.high = 10.0 / 20;
  range.judged_by = JudgedBy::all;
  claim.published = {range};
  CHECK(*compare(claim, claim.published.front(), table).error == doctest::Approx(0.1));
}

TEST_CASE("A point may say which run its own stands over") {
  const Table table = two_policies();
  Claim claim;
  claim.id = "a";
  claim.measure = {.kind = Measure::Kind::ratio,
                   .metric = "makespan_us",
                   .runs = {{{{"policy", {std::string{"slow"}}}, {"layers", {std::int64_t{8}}}}},
                            only("policy", std::string{"slow"})},
                   .along = {},
                   .per = {}};
  PublishedPoint point = number(4);
  point.over = only("layers", std::int64_t{2});
  claim.published = {point};
  const Outcome outcome = compare(claim, claim.published.front(), table);
  CHECK(outcome.simulated.count == 2);  // one per batch
  CHECK(outcome.simulated.min == 4);    // 800 over 200
  CHECK(outcome.status == ClaimStatus::within);
  // Per layer both take the same.
  claim.measure.per = {{std::string{"layers"}}};
  CHECK(compare(claim, claim.published.front(), table).simulated.max == 1);
}

TEST_CASE("What is not covered has no number") {
  Claim claim;
  claim.id = "a";
  claim.no_answer = "a reason";
  claim.published = {number(1)};
  const Outcome outcome = compare(claim, claim.published.front(), Table{});
  CHECK(outcome.status == ClaimStatus::not_covered);
  CHECK(outcome.simulated.count == 0);
}

}  // namespace
}  // namespace schedlab
