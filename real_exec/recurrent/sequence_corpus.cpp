// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/sequence_corpus.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr float target_offset = 0.25F;
constexpr float target_amplitude =
    0.25F;  // the sum stays within 2, the target within what tanh reaches
constexpr float target_decay = 0.5F;

}  // namespace

SequenceCorpus::SequenceCorpus(std::vector<std::int64_t> lengths,
                               std::int64_t input,
                               std::int64_t output,
                               std::uint64_t seed)
    : lengths_(std::move(lengths)), input_(input), output_(output), seed_(seed) {
  SCHEDLAB_EXPECTS(input >= 1 && output >= 1,
                   fmt::format("corpus of {} inputs and {} outputs", input, output));
}

void SequenceCorpus::fill(std::span<const std::uint32_t> members,
                          std::int64_t rows,
                          std::int64_t steps,
                          float weight,
                          PaddedBatch& batch,
                          std::span<const std::uint32_t> row_of,
                          const SequenceRecords* read) const {
  const auto row_at = [&](std::size_t i) {
    return static_cast<std::int64_t>(row_of.empty() ? i : row_of[i]);
  };
  SCHEDLAB_EXPECTS(!members.empty() && row_at(members.size() - 1) < rows,
                   fmt::format("{} sequences in {} rows", members.size(), rows));
  const auto places = static_cast<std::size_t>(steps * rows);
  batch.x.assign(places * static_cast<std::size_t>(input_), 0.0F);
  batch.target.assign(places * static_cast<std::size_t>(output_), 0.0F);
  batch.lengths.assign(static_cast<std::size_t>(rows), 0);
  batch.breaks.clear();
  std::int64_t real_steps = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::int64_t row = row_at(i);
    std::int64_t& row_length = batch.lengths[static_cast<std::size_t>(row)];
    if (row_length > 0) {
      batch.breaks.resize(places, 0);
      batch.breaks[static_cast<std::size_t>(row_length * rows + row)] = 1;
      ++row_length;
    }
    const std::int64_t length = lengths_.at(members[i]);
    SCHEDLAB_EXPECTS(row_length + length <= steps,
                     fmt::format("length {} in {} steps", row_length + length, steps));
    const std::int64_t first = row_length;
    const auto place = [&](std::int64_t step) {
      const std::int64_t at = (first + step) * rows + row;
      return Place{batch.x.data() + at * input_, batch.target.data() + at * output_};
    };
    if (read == nullptr) {
      make(members[i], place);
    } else {
      copy(*read, members[i], place);
    }
    row_length += length;
    real_steps += length;
  }
  batch.scale = weight / static_cast<float>(real_steps);
}

void SequenceCorpus::append_records(std::uint32_t member,
                                    std::int64_t stride,
                                    std::vector<float>& values) const {
  const std::size_t first = values.size();
  values.resize(first + static_cast<std::size_t>(lengths_.at(member) * stride), 0.0F);
  make(member, [&](std::int64_t step) {
    float* const at = values.data() + first + step * stride;
    return Place{at, at + input_};
  });
}

void SequenceCorpus::make(std::uint32_t member, const PlaceOf& place) const {
  Rng rng{Rng{seed_ + member}.next()};
  std::vector<float> sums(static_cast<std::size_t>(input_), 0.0F);
  for (std::int64_t step = 0; step < lengths_[member]; ++step) {
    const auto [x, target] = place(step);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      x[i] = static_cast<float>(2.0 * rng.uniform() - 1.0);
      sums[i] = x[i] + target_decay * sums[i];
    }
    for (std::int64_t j = 0; j < output_; ++j) {
      target[j] = target_offset + target_amplitude * sums[static_cast<std::size_t>(j % input_)];
    }
  }
}

void SequenceCorpus::copy(const SequenceRecords& read,
                          std::uint32_t member,
                          const PlaceOf& place) const {
  const float* at = read.values.data() + read.offsets[member];
  for (std::int64_t step = 0; step < lengths_[member]; ++step, at += read.stride) {
    const auto [x, target] = place(step);
    std::copy_n(at, input_, x);
    std::copy_n(at + input_, output_, target);
  }
}

}  // namespace schedlab
