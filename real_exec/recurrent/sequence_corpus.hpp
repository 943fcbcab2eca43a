// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace schedlab {

/// Sequences that were read from a file: of each step its input, then its target.
struct SequenceRecords {
  std::span<const float> values;         ///< of the whole file
  std::span<const std::size_t> offsets;  ///< of each sequence of the corpus, in its file
  std::int64_t stride = 0;               ///< floats from one step to the next
};

/// Made-up sequences of given lengths that a recurrent network can learn something of: inputs are
/// uniform in [-1, 1), and each target is 0.25 plus a quarter of the decaying sum s(t) = x(t) +
/// s(t-1) / 2 of one input. What a sequence holds depends on the seed and its number alone, not on
/// its batch or its padding.
class SequenceCorpus {
 public:
  /// `input`, `output`: elements of a step. ContractViolation for one below 1.
  SequenceCorpus(std::vector<std::int64_t> lengths,
                 std::int64_t input,
                 std::int64_t output,
                 std::uint64_t seed);

  /// Fills `batch` with these sequences, padded with zeros to `steps`; rows that are left are
  /// empty. `row_of`: the row of each, rising; those of one row follow each other, with a step
  /// between them; empty: a row each. The loss is `weight` / 2 times the mean squared error over
  /// all real steps, summed over the output. ContractViolation for more rows than there are, no
  /// sequence, or a longer row. `read`: what files say the sequences are, all of one file; nullptr:
  /// they are made up.
  void fill(std::span<const std::uint32_t> members,
            std::int64_t rows,
            std::int64_t steps,
            float weight,
            PaddedBatch& batch,
            std::span<const std::uint32_t> row_of = {},
            const SequenceRecords* read = nullptr) const;

  [[nodiscard]] std::size_t size() const { return lengths_.size(); }
  /// Floats of a step's input and target.
  [[nodiscard]] std::int64_t step_floats() const { return input_ + output_; }
  /// Adds the records of a sequence, each padded with zeros to `stride` floats.
  void append_records(std::uint32_t member, std::int64_t stride, std::vector<float>& values) const;

 private:
  /// Where a step's input and target belong.
  struct Place {
    float* x;
    float* target;
  };
  using PlaceOf = std::function<Place(std::int64_t step)>;
  void make(std::uint32_t member, const PlaceOf& place) const;
  void copy(const SequenceRecords& read, std::uint32_t member, const PlaceOf& place) const;

  std::vector<std::int64_t> lengths_;
  std::int64_t input_;
  std::int64_t output_;
  std::uint64_t seed_;
};

}  // namespace schedlab
