// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "workloads/buckets/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace schedlab {

/// Lengths to which sequences are padded, ascending; the last is the longest length. A sequence
/// goes into the first bucket that is not shorter.
using BucketBoundaries = std::vector<std::int64_t>;

/// How boundaries are placed. L is the longest length, N the number of buckets, m = 1 ... N.
enum class BoundaryRule : std::uint8_t {
  fixed_step,       ///< m L / N
  by_distribution,  ///< F^-1(m / N): equally many sequences in each
  increasing_step,  ///< L m (m + 1) / (N (N + 1)): steps grow in proportion to m
  // Other readings of the lost formula of increasing steps.
  increasing_square,    ///< L (m / N)^2: the inverse of the square root that F resembles
  increasing_mean,      ///< the mean of fixed_step and by_distribution
  increasing_doubling,  ///< L (2^m - 1) / (2^N - 1): each step twice the last
  optimal,              ///< least cost for the distribution
};
template <>
struct EnumNames<BoundaryRule> {
  static constexpr auto names = name_list("fixed_step",
                                          "by_distribution",
                                          "increasing_step",
                                          "increasing_square",
                                          "increasing_mean",
                                          "increasing_doubling",
                                          "optimal");
};

/// What one sequence costs in a bucket of this length; must not fall with the length.
using LengthCost = std::function<double(std::int64_t)>;

/// Boundaries by one of the rules; `cost` counts for `optimal` only. Fractions are rounded up and
/// boundaries that coincide are one, so there may be fewer than `count`.
///
/// `optimal` is exact: a dynamic programme over the lengths that occur. The cost of the bucket
/// (a, b], cost(b) (F(b) - F(a)), satisfies the quadrangle inequality, so the best split moves up
/// with the end and halving the range of ends finds all. Cost O(count * lengths * log(lengths)).
///
/// Errors  ContractViolation for a count below 1, or a cost that falls with the length.
/// Source  Feng, Han, Jin, Chi, An on training speech models with data drop (system S2, in
/// Chinese): first three rules; those of increasing steps are readings, as its formula is lost.
/// Divide and conquer: Galil and Park, Theoretical Computer Science 92(1), 1992,
/// doi 10.1016/0304-3975(92)90135-3.
[[nodiscard]] BucketBoundaries bucket_boundaries(BoundaryRule rule,
                                                 const LengthDistribution& lengths,
                                                 std::int64_t count,
                                                 const LengthCost& cost);

/// Index of the bucket of a sequence. ContractViolation if it is longer than all.
[[nodiscard]] std::size_t bucket_of(const BucketBoundaries& boundaries, std::int64_t length);

/// Mean cost of a sequence, each in its bucket.
[[nodiscard]] double expected_cost(const LengthDistribution& lengths,
                                   const BucketBoundaries& boundaries,
                                   const LengthCost& cost);

}  // namespace schedlab
