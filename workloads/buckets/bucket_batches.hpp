// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/buckets/boundaries.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace schedlab {

/// How many rows the batch of a bucket has.
enum class Batching : std::uint8_t {
  sequences,  ///< as many in every bucket
  tokens,     ///< rows times steps as in the longest bucket
  memory,     ///< as many as fit into what a batch of the longest bucket needs
};
template <>
struct EnumNames<Batching> {
  static constexpr auto names = name_list("sequences", "tokens", "memory");
};

/// Buckets that each have a batch of their own.
struct BatchedBuckets {
  BucketBoundaries boundaries;
  std::vector<std::int64_t> batches{};  ///< rows, by bucket
  double cost = 0;                      ///< of one pass
};

/// Batches among which a bucket of this length may choose, at least one: those that fit.
using BatchChoices = std::function<std::vector<std::int64_t>(std::int64_t length)>;
/// Cost of one step of a batch that is unrolled to this length.
using BatchCost = std::function<double(std::int64_t length, std::int64_t batch)>;

/// Boundaries and batches together, of least cost: the sum over buckets of ceil(n / batch) steps,
/// n of the sequences in `chunks` equal parts, each cut into batches by itself. Buckets end at
/// lengths that occur; at most `count`. Of equal costs the smaller batch.
///
/// Exact for any costs where no more than `exact_lengths` lengths occur: a dynamic programme over
/// pairs of ends; else ends are so many quantiles. Cost O(ends^2 (choices + count)).
/// Errors  ContractViolation for no sequences, no count, no chunks or no choice.
inline constexpr std::size_t exact_lengths = 1000;
[[nodiscard]] BatchedBuckets optimal_batched_buckets(std::span<const std::int64_t> lengths,
                                                     std::int64_t chunks,
                                                     std::int64_t count,
                                                     const BatchChoices& choices,
                                                     const BatchCost& cost);

/// The batch that needs no more steps for `rows` than one of `largest`, with the fewest rows left
/// empty: ceil(rows / steps), as a multiple of `multiple`, at most `largest`.
[[nodiscard]] std::int64_t evened_batch(std::int64_t rows,
                                        std::int64_t largest,
                                        std::int64_t multiple);

}  // namespace schedlab
