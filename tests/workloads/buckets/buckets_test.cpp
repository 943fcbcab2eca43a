// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/support/refusal.hpp"
#include "workloads/buckets/boundaries.hpp"
#include "workloads/buckets/bucket_batches.hpp"
#include "workloads/buckets/epoch.hpp"
#include "workloads/buckets/lengths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using doctest::Approx;

namespace {

double plain_length(std::int64_t length) {
  return static_cast<double>(length);
}

std::string problem(const std::string& text) {
  return schedlab::testing::refusal([&] { (void)read_lengths(text, "lengths.csv"); });
}

/// Every way to place `count` - 1 boundaries below the longest length.
double min_by_trying_all(const LengthDistribution& lengths,
                         std::int64_t count,
                         const LengthCost& cost) {
  const std::int64_t longest = lengths.longest();
  double least = expected_cost(lengths, {longest}, cost);
  for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << (longest - 1)); ++chosen) {
    BucketBoundaries boundaries;
    for (std::int64_t length = 1; length < longest; ++length) {
      if (((chosen >> (length - 1)) & 1U) != 0) boundaries.push_back(length);
    }
    boundaries.push_back(longest);
    if (static_cast<std::int64_t>(boundaries.size()) > count) continue;
    least = std::min(least, expected_cost(lengths, boundaries, cost));
  }
  return least;
}

LengthDistribution random_histogram(std::int64_t longest, Rng& rng) {
  std::vector<std::pair<std::int64_t, double>> weights;
  for (std::int64_t length = 1; length <= longest; ++length) {
    weights.emplace_back(length, rng.below(3) == 0 ? 0.0 : rng.uniform());
  }
  weights.back().second = 1;
  return LengthDistribution::histogram(weights);
}

std::vector<LengthDistribution> tried_distributions() {
  std::vector<LengthDistribution> all{LengthDistribution::uniform(1, 2000),
                                      LengthDistribution::uniform(300, 700),
                                      LengthDistribution::power_law(2000, 0.5),
                                      LengthDistribution::power_law(2000, 0.29),
                                      LengthDistribution::power_law(500, 3),
                                      LengthDistribution::log_normal(1500, 200, 0.8)};
  Rng rng{5};
  for (int i = 0; i < 5; ++i) all.push_back(random_histogram(60, rng));
  return all;
}

}  // namespace

TEST_CASE("a distribution knows its mean, shares and quantiles") {
  const auto uniform = LengthDistribution::uniform(1, 8);
  CHECK(uniform.mean() == Approx(4.5));  // (1 + 8) / 2
  CHECK(uniform.quantile(0.25) == 2);
  CHECK(uniform.quantile(0.5) == 4);
  CHECK(uniform.quantile(1) == 8);
  CHECK(uniform.quantile(0) == 1);
  CHECK(uniform.probability(3) == Approx(0.125));
  // F(x) = sqrt(x / 400): the mean of the continuous law is 400 (1 - 2/3), rounding up adds 1/2.
  const auto root = LengthDistribution::power_law(400, 0.5);
  CHECK(root.mean() == Approx(400.0 / 3 + 0.5).epsilon(0.003));
  CHECK(root.quantile(0.5) == 100);
  const auto skewed = LengthDistribution::histogram({{10, 1}, {2, 3}, {20, 0}});
  CHECK(skewed.longest() == 10);      // nothing has length 20
  CHECK(skewed.mean() == Approx(4));  // (3 * 2 + 10) / 4
  // Half of the lengths are below the median; the cut at 10^5 takes next to nothing away.
  CHECK(LengthDistribution::log_normal(100'000, 300, 0.5).quantile(0.5) == 300);
}

TEST_CASE("draws follow the distribution and the seed") {
  const auto root = LengthDistribution::power_law(2000, 0.5);
  const auto lengths = root.draw(100'000, 7);
  CHECK(lengths == root.draw(100'000, 7));
  CHECK(lengths != root.draw(100'000, 8));
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  // Standard deviation of one is about 600, of the mean of 10^5 about 2.
  CHECK(sum / 100'000 == Approx(root.mean()).epsilon(0.015));
  CHECK(*std::min_element(lengths.begin(), lengths.end()) >= 1);
  CHECK(*std::max_element(lengths.begin(), lengths.end()) <= 2000);
}

TEST_CASE("lengths are read from one column, or by header with counts") {
  CHECK(read_lengths("\n3\n1\r\n# note\n2\n\n\n", "a") == std::vector<std::int64_t>{3, 1, 2});
  CHECK(read_lengths("name,count,length\nx,2,7\n\"y\",1,9\n", "a") ==
        std::vector<std::int64_t>{7, 7, 9});
}

TEST_CASE("a bad line of a length file is named with what is wrong with it") {
  CHECK(problem("3\n0\n").find("lengths.csv: line 2: found \"0\", expected a length") == 0);
  CHECK(problem("3\n-4\n").find("line 2: found \"-4\"") != std::string::npos);
  CHECK(problem("length\n1000001\n").find("line 2: found \"1000001\"") != std::string::npos);
  CHECK(problem("99999999999999999999\n").find("line 1") != std::string::npos);
  CHECK(problem("length,count\n3\n").find("line 2: found nothing in column 2") !=
        std::string::npos);
  CHECK(problem("length\n12x\n").find("\"12x\"") != std::string::npos);
  CHECK(problem("frames\n12\n").find("without the column length") != std::string::npos);
  CHECK(problem("length,count\n3,50000000\n3,1\n").find("line 3: found more than") !=
        std::string::npos);
  CHECK(problem("\n").find("no lengths") != std::string::npos);
  CHECK(problem("3\n\n# note\n\n2\n").find("line 2: found an empty line between lengths") !=
        std::string::npos);
}

TEST_CASE("parameters out of range are refused by name") {
  CHECK_THROWS_WITH_AS(static_cast<void>(LengthDistribution::uniform(9, 8)),
                       doctest::Contains("/shortest"),
                       InputError);
  CHECK_THROWS_AS(static_cast<void>(LengthDistribution::power_law(0, 0.5)), InputError);
  CHECK_THROWS_AS(static_cast<void>(LengthDistribution::power_law(10, 0)), InputError);
  CHECK_THROWS_AS(static_cast<void>(LengthDistribution::log_normal(10, 1e9, 0.1)), InputError);
  CHECK_THROWS_AS(static_cast<void>(LengthDistribution::histogram({{3, 0}})), InputError);
}

TEST_CASE("the three published rules place boundaries as stated") {
  const auto root = LengthDistribution::power_law(1600, 0.5);
  const auto place = [&](BoundaryRule rule) {
    return bucket_boundaries(rule, root, 4, plain_length);
  };
  CHECK(place(BoundaryRule::fixed_step) == BucketBoundaries{400, 800, 1200, 1600});
  // F^-1(m / 4) = 1600 (m / 4)^2.
  CHECK(place(BoundaryRule::by_distribution) == BucketBoundaries{100, 400, 900, 1600});
  // 1600 m (m + 1) / 20.
  CHECK(place(BoundaryRule::increasing_step) == BucketBoundaries{160, 480, 960, 1600});
  CHECK(place(BoundaryRule::increasing_square) == BucketBoundaries{100, 400, 900, 1600});
  CHECK(place(BoundaryRule::increasing_mean) == BucketBoundaries{250, 600, 1050, 1600});
  // 1600 / 15, 3, 7 times that.
  CHECK(place(BoundaryRule::increasing_doubling) == BucketBoundaries{107, 320, 747, 1600});
  // Three lengths give at most three buckets.
  CHECK(bucket_boundaries(
            BoundaryRule::fixed_step, LengthDistribution::uniform(1, 3), 8, plain_length) ==
        BucketBoundaries{1, 2, 3});
}

TEST_CASE("a sequence goes into the first bucket that is not shorter") {
  const BucketBoundaries boundaries{10, 20};
  CHECK(bucket_of(boundaries, 1) == 0);
  CHECK(bucket_of(boundaries, 10) == 0);
  CHECK(bucket_of(boundaries, 11) == 1);
  CHECK_THROWS_AS(static_cast<void>(bucket_of(boundaries, 21)), ContractViolation);
}

TEST_CASE("optimal boundaries cost what trying all of them finds") {
  Rng rng{3};
  for (int round = 0; round < 20; ++round) {
    const auto lengths = random_histogram(10, rng);
    // Costs that rise with jumps, as whole tiles make them.
    std::vector<double> costs(10);
    double sum = 5;
    for (double& cost : costs) cost = sum += static_cast<double>(rng.below(4));
    const LengthCost cost = [&](std::int64_t length) {
      return costs[static_cast<std::size_t>(length - 1)];
    };
    for (std::int64_t count = 1; count <= 10; ++count) {
      CAPTURE(round);
      CAPTURE(count);
      const auto found = bucket_boundaries(BoundaryRule::optimal, lengths, count, cost);
      CHECK(static_cast<std::int64_t>(found.size()) <= count);
      CHECK(found.back() == lengths.longest());
      CHECK(expected_cost(lengths, found, cost) ==
            Approx(min_by_trying_all(lengths, count, cost)).epsilon(1e-12));
    }
  }
  const LengthCost falling = [](std::int64_t length) { return static_cast<double>(-length); };
  CHECK_THROWS_AS(static_cast<void>(bucket_boundaries(
                      BoundaryRule::optimal, LengthDistribution::uniform(1, 4), 2, falling)),
                  ContractViolation);
}

TEST_CASE("optimal boundaries are never worse than those of another rule") {
  const LengthCost with_start = [](std::int64_t length) {
    return 50 + static_cast<double>(length);
  };
  for (const LengthDistribution& lengths : tried_distributions()) {
    for (const std::int64_t count : {1, 2, 3, 8, 32}) {
      const auto best = bucket_boundaries(BoundaryRule::optimal, lengths, count, with_start);
      const double least = expected_cost(lengths, best, with_start);
      for (const auto rule : {BoundaryRule::fixed_step,
                              BoundaryRule::by_distribution,
                              BoundaryRule::increasing_step,
                              BoundaryRule::increasing_mean,
                              BoundaryRule::increasing_doubling}) {
        const auto other = bucket_boundaries(rule, lengths, count, with_start);
        CHECK(least <= expected_cost(lengths, other, with_start) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("a epoch sorts chunks, fills batches and pads them to their bucket") {
  // Two chunks of four: {1, 2, 5, 9} and {3, 3, 4, 10}; batches of two by length.
  const std::vector<std::int64_t> lengths{5, 1, 9, 2, 10, 3, 4, 3};
  const auto epoch = make_epoch(lengths, {4, 10}, {.batch = 2, .chunk = 4, .seed = 1});
  CHECK(epoch.chunks.size() == 2);
  CHECK(epoch.batches.size() == 4);
  CHECK(epoch.real_steps == 37);
  // {1, 2} and {3, 3} to 4, {5, 9} and {4, 10} to 10: 2 * (4 + 4 + 10 + 10).
  CHECK(epoch.padded_steps == 56);
  CHECK(epoch.padding_share() == Approx(1 - 37.0 / 56));
  CHECK(batches_per_bucket(epoch) == std::vector<std::int64_t>{2, 2});
  // One chunk of eight: {1, 2}, {3, 3}, {4, 5}, {9, 10}: the same here, but other batches.
  CHECK(make_epoch(lengths, {4, 10}, {.batch = 2}).padded_steps == 56);
}

TEST_CASE("incomplete batches are computed like full ones, or left out") {
  const std::vector<std::int64_t> lengths{4, 4, 4, 4, 4};
  const auto kept = make_epoch(lengths, {4}, {.batch = 2});
  CHECK(kept.batches.size() == 3);
  CHECK(kept.padded_steps == 24);  // three batches of two, though one has one sequence
  const auto dropped = make_epoch(lengths, {4}, {.batch = 2, .drop_incomplete = true});
  CHECK(dropped.batches.size() == 2);
  CHECK(dropped.left_out == 1);
  CHECK(dropped.padding_share() == 0);
}

TEST_CASE("a batch takes the rows of the first bucket that fits all of them") {
  // By length 1 1 2 2 2 | 3 4 4. Four rows up to 2, two up to 4: {1, 1, 2, 2}; the next four of the
  // first bucket would be {2, 3, 4, 4}, so {2, 3} go into the second, then {4, 4}.
  const std::vector<std::int64_t> lengths{4, 1, 2, 3, 2, 1, 4, 2};
  const auto epoch = make_epoch(lengths, {2, 4}, {.batch_rows = {4, 2}});
  CHECK(batches_per_bucket(epoch) == std::vector<std::int64_t>{1, 2});
  CHECK(epoch.padded_steps == 4 * 2 + 2 * (2 * 4));
  CHECK(epoch.sequences == 8);
  CHECK(rows_per_bucket(lengths, {2, 4}, {}) == std::vector<std::int64_t>{5, 3});
  CHECK_THROWS_AS((void)make_epoch(lengths, {2, 4}, {.batch_rows = {4}}), ContractViolation);
  CHECK_THROWS_AS((void)make_epoch(lengths, {2, 4}, {.sorted = false, .packed = true}),
                  ContractViolation);
}

TEST_CASE("packing fills a row with the longest sequences that still fit") {
  // Rows of 10 for 6 to 10, of 5 for the rest. 9 leaves space for nothing (a step between, 0 left),
  // 7 for a 2 (7 + 1 + 2), 6 for a 3; then 4 alone (a break and a 1 would take 6 of 5), and the two
  // 1s with 2 between: 1 + 1 + 1.
  const std::vector<std::int64_t> lengths{1, 9, 4, 2, 7, 1, 6, 3};
  const auto order = [&] {
    std::vector<std::uint32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }();
  const SequenceRows packed = packed_rows(order, lengths, {5, 10});
  std::vector<std::vector<std::int64_t>> rows;
  for (const SequenceRow& row : packed.rows) {
    rows.emplace_back().push_back(row.length);
    for (std::size_t i = 0; i < row.count; ++i) {
      rows.back().push_back(lengths[packed.members[row.first + i]]);
    }
  }
  CHECK(rows ==
        std::vector<std::vector<std::int64_t>>{{3, 1, 1}, {4, 4}, {9, 9}, {10, 7, 2}, {10, 6, 3}});
  const auto epoch = make_epoch(lengths, {5, 10}, {.batch = 2, .packed = true});
  CHECK(epoch.sequences == 8);
  CHECK(epoch.real_steps == 33);
  CHECK(epoch.padded_steps == 2 * 5 + 2 * (2 * 10));  // 80 without packing: 4 batches of two
  CHECK(std::is_sorted(epoch.rows.begin(), epoch.rows.begin() + 2));
}

TEST_CASE("packed rows hold every sequence once, in rows that fit their bucket") {
  const auto lengths = LengthDistribution::power_law(60, 0.5).draw(700, 3);
  const BucketBoundaries boundaries{15, 30, 60};
  const EpochOptions options{.batch = 8, .chunk = 300, .packed = true};
  const auto epoch = make_epoch(lengths, boundaries, options);
  std::vector<std::uint32_t> seen = epoch.members;
  std::sort(seen.begin(), seen.end());
  for (std::uint32_t i = 0; i < 700; ++i) REQUIRE(seen[i] == i);
  for (const SequenceBatch& batch : epoch.batches) {
    std::vector<std::int64_t> used(8, -1);
    for (std::size_t i = batch.first; i < batch.first + batch.sequences; ++i) {
      used.at(epoch.rows[i]) += 1 + lengths[epoch.members[i]];
    }
    CHECK(*std::max_element(used.begin(), used.end()) == batch.longest);
    CHECK(batch.longest <= boundaries[batch.bucket]);
  }
  const auto plain = make_epoch(lengths, boundaries, {.batch = 8, .chunk = 300});
  CHECK(epoch.padded_steps < plain.padded_steps);
  CHECK(epoch.real_steps == plain.real_steps);
}

namespace {

/// Least cost over all boundaries that occur and all batches, by trying them.
double least_by_trying_all(const std::vector<std::int64_t>& sorted,
                           std::int64_t chunks,
                           std::int64_t count,
                           const BatchChoices& choices,
                           const BatchCost& cost,
                           std::size_t from = 0) {
  if (from == sorted.size()) return 0;
  double least = 1e300;
  if (count == 0) return least;
  for (std::size_t end = from + 1; end <= sorted.size(); ++end) {
    if (end < sorted.size() && sorted[end] == sorted[end - 1]) continue;
    const auto sequences = static_cast<std::int64_t>(end - from);
    const std::int64_t of_chunk = (sequences + chunks - 1) / chunks;
    const double rest = least_by_trying_all(sorted, chunks, count - 1, choices, cost, end);
    for (const std::int64_t batch : choices(sorted[end - 1])) {
      const std::int64_t steps = chunks * ((of_chunk + batch - 1) / batch);
      least = std::min(least, rest + static_cast<double>(steps) * cost(sorted[end - 1], batch));
    }
  }
  return least;
}

}  // namespace

TEST_CASE("optimal boundaries and batches together cost what trying all of them finds") {
  Rng rng{5};
  for (int round = 0; round < 30; ++round) {
    std::vector<std::int64_t> lengths(4 + rng.below(20));
    for (std::int64_t& length : lengths) length = 1 + static_cast<std::int64_t>(rng.below(9));
    std::vector<std::int64_t> sorted = lengths;
    std::sort(sorted.begin(), sorted.end());
    // A limit on rows times steps, and any costs: they need not rise.
    const auto limit = static_cast<std::int64_t>(9 + rng.below(40));
    const BatchChoices choices = [&](std::int64_t length) {
      std::vector<std::int64_t> fitting{1};
      for (const std::int64_t batch : {2, 3, 4, 6, 8}) {
        if (batch * length <= limit) fitting.push_back(batch);
      }
      return fitting;
    };
    std::vector<double> costs(100);
    for (double& one : costs) one = 1 + static_cast<double>(rng.below(50));
    const BatchCost cost = [&](std::int64_t length, std::int64_t batch) {
      return costs[static_cast<std::size_t>(length * 10 + batch)];
    };
    const auto chunks = static_cast<std::int64_t>(1 + rng.below(3));
    for (std::int64_t count = 1; count <= 4; ++count) {
      CAPTURE(round);
      CAPTURE(count);
      const auto found = optimal_batched_buckets(lengths, chunks, count, choices, cost);
      CHECK(found.cost == Approx(least_by_trying_all(sorted, chunks, count, choices, cost)));
      CHECK(static_cast<std::int64_t>(found.boundaries.size()) <= count);
      REQUIRE(found.batches.size() == found.boundaries.size());
      CHECK(found.boundaries.back() == sorted.back());
      CHECK(std::is_sorted(found.boundaries.begin(), found.boundaries.end()));
      for (std::size_t i = 0; i < found.batches.size(); ++i) {
        CHECK((found.batches[i] == 1 || found.batches[i] * found.boundaries[i] <= limit));
      }
    }
  }
  CHECK_THROWS_AS((void)optimal_batched_buckets({}, 1, 1, {}, {}), ContractViolation);
}

TEST_CASE("a batch is no larger than its rows fill in as many steps") {
  CHECK(evened_batch(10, 8, 1) == 5);  // two steps of 5, not of 8 and 2
  CHECK(evened_batch(10, 8, 4) == 8);
  CHECK(evened_batch(3, 8, 1) == 3);
  CHECK(evened_batch(16, 8, 4) == 8);
  CHECK(evened_batch(0, 8, 4) == 8);
}

TEST_CASE("both shuffles keep every sequence, and depend on the seed alone") {
  const auto lengths = LengthDistribution::uniform(1, 50).draw(1000, 1);
  const EpochOptions options{.batch = 4, .chunk = 100, .seed = 1};
  const auto epoch = make_epoch(lengths, {25, 50}, options);
  CHECK(epoch.sequences == 1000);
  CHECK(epoch.real_steps == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  const auto longest = [](const Epoch& one) {
    std::vector<std::int64_t> all;
    for (const SequenceBatch& batch : one.batches) all.push_back(batch.longest);
    return all;
  };
  CHECK(longest(epoch) == longest(make_epoch(lengths, {25, 50}, options)));
  const auto other = make_epoch(lengths, {25, 50}, {.batch = 4, .chunk = 100, .seed = 2});
  CHECK(longest(epoch) != longest(other));
  CHECK_FALSE(std::is_sorted(epoch.batches.begin(),
                             epoch.batches.begin() + 25,
                             [](const auto& a, const auto& b) { return a.longest < b.longest; }));
}

TEST_CASE("reading hides behind training when it is the faster of the two") {
  // Three chunks of one batch each of 10 steps. One step takes 1 us, so a batch 10 us.
  const auto epoch = make_epoch({10, 10, 10}, {10}, {.batch = 1, .chunk = 1});
  const StepTime step = [](std::int64_t length) { return 1us * length; };
  ChunkReading reading{.latency = 4us, .chunks_ahead = 1};
  // Only the first read, 4 us, is not hidden.
  auto time = epoch_time(epoch, step, {}, reading);
  CHECK(time.total == 34us);
  CHECK(time.training == 30us);
  CHECK(time.waiting == 4us);
  // Reads of 15 us end at 15, 30, 45 and each is followed by 10 us: the last ends at 55.
  reading.latency = 15us;
  CHECK(epoch_time(epoch, step, {}, reading).total == 55us);
  // Nothing read ahead: 3 * (15 + 10).
  reading.chunks_ahead = 0;
  CHECK(epoch_time(epoch, step, {}, reading).total == 75us);
  // 10 steps of 200 bytes at 1 GB/s are 2 us; with 4 us before, 6 us.
  // Two producers: reads of 15 us end at 15 and 15, and the third, which waits for the first chunk
  // to be trained, at 40; with a free slot at once at 30.
  reading.producers = 2;
  reading.chunks_ahead = 1;
  CHECK(epoch_time(epoch, step, {}, reading).total == 50us);
  reading.chunks_ahead = 2;
  CHECK(epoch_time(epoch, step, {}, reading).total == 45us);
  const ChunkReading by_bytes{1_GB_per_s, 200, 4us};
  CHECK(epoch_time(epoch, step, {}, by_bytes).waiting == 6us);
}

TEST_CASE("models are built once per bucket, or for every batch beside the last step or not") {
  // Two batches of lengths 5 and 10, in one bucket of 10.
  const auto epoch = make_epoch({5, 10}, {10}, {.batch = 1});
  const StepTime step = [](std::int64_t length) { return 1us * length; };
  // One model of 7 us, two steps of 10 us.
  auto time = epoch_time(epoch, step, {.build = 7us, .stored = true}, {});
  CHECK(time.total == 27us);
  CHECK(time.building == 7us);
  // Two models, steps of 5 and 10 us in either order.
  CHECK(epoch_time(epoch, step, {.build = 7us, .stored = false}, {}).total == 29us);
  // The second is built during the first step; 2 us remain if that is the short one.
  time = epoch_time(epoch, step, {.build = 7us, .stored = false, .overlapped = true}, {});
  const bool short_first = epoch.batches.front().longest == 5;
  CHECK(time.building == (short_first ? 9us : 7us));
  CHECK(time.total == 15us + time.building);
}

TEST_CASE("a cache of models builds again what it dropped, the one used longest ago") {
  Epoch epoch;
  epoch.batch_rows = {1, 1, 1};
  epoch.boundaries = {1, 2, 3};
  for (const std::uint32_t bucket : {0U, 1U, 0U, 2U, 1U, 0U}) {
    epoch.batches.push_back({.bucket = bucket, .rows = 1, .sequences = 1, .longest = bucket + 1});
  }
  epoch.chunks = {{.batches = 6, .real_steps = 10}};
  const StepTime step = [](std::int64_t length) { return 1us * length; };
  ModelBuilding building{.build = 10us, .cached = 2, .load = step};
  // Built for batches 0, 1, 3 (drops 1), 4 (drops 0) and 5 (drops 2): lengths 1, 2, 3, 2, 1.
  const EpochTime first = epoch_time(epoch, step, building, {});
  CHECK(first.models == 5);
  CHECK(first.building == 5 * 10us + 9us);
  CHECK(first.training == 10us);
  CHECK(first.total == first.building + first.training);
  // The next pass finds 1 and 0: built for batches 3, 4 and 5.
  CHECK(later_building(epoch, building) == 3 * 10us + 6us);
  building.cached = 0;
  CHECK(epoch_time(epoch, step, building, {}).building == 3 * 10us + 6us);
  CHECK(later_building(epoch, building) == 0us);
}

TEST_CASE("stored models pay after what they cost over what a run gains") {
  const EpochTime first{.total = 119us, .training = 60us, .building = 59us};
  EpochTime without{.total = 120us, .training = 120us};
  // A pass of 6 runs gains 120 - 60 - 36 = 24 us, and later ones are spared 59 - 36 = 23 us.
  CHECK(break_even_runs(first, 36us, without, 6).value() == doctest::Approx(6 * 23.0 / 24.0));
  without.training = 96us;
  CHECK_FALSE(break_even_runs(first, 36us, without, 6).has_value());
}

TEST_CASE("a length is simulated once, and a sum beyond the range of time is refused") {
  const auto epoch = make_epoch(std::vector<std::int64_t>(100, 10), {10}, {.batch = 1});
  int calls = 0;
  const StepTime counted = [&](std::int64_t) {
    ++calls;
    return 1us;
  };
  CHECK(epoch_time(epoch, counted, {}, {}).total == 100us);
  CHECK(calls == 1);
  const StepTime endless = [](std::int64_t) { return Duration::max() / 2; };
  CHECK_THROWS_WITH_AS(static_cast<void>(epoch_time(epoch, endless, {}, {})),
                       doctest::Contains("106 days"),
                       InfeasibleError);
}
