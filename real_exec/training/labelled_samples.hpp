// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_spec.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// Samples with their classes: values[size, shape], labels 0 .. classes-1.
struct LabelledSamples {
  SampleShape shape;
  std::int64_t classes = 0;
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::int64_t labels_per_sample = 1;

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(labels.size()) / labels_per_sample;
  }
  [[nodiscard]] std::span<const std::int32_t> labels_of(std::int64_t index) const {
    return std::span{labels}.subspan(static_cast<std::size_t>(index * labels_per_sample),
                                     static_cast<std::size_t>(labels_per_sample));
  }
  [[nodiscard]] std::span<const float> sample(std::int64_t index) const {
    const auto width = static_cast<std::size_t>(shape.elements());
    return std::span{values}.subspan(static_cast<std::size_t>(index) * width, width);
  }
};

/// What a model is trained on and what it is tested on.
struct TrainingData {
  LabelledSamples train;
  LabelledSamples test;
};

/// Comma-separated lines: a heading, then per sample its class and its values, row by row (with
/// channels side by side). As many classes as the largest label says.
/// Throws InputError naming the line: not shape.elements() + 1 fields, a value that is no finite
/// number, a class that is no whole number from 0; a file without samples.
[[nodiscard]] LabelledSamples read_labelled_csv(std::string_view text,
                                                const std::filesystem::path& file,
                                                const SampleShape& shape);

/// A text in windows of `length` characters, each with the characters that follow: the labels.
/// Characters (bytes) are numbered by their values; as many classes as there are different ones.
/// Throws InputError for a text shorter than five windows.
[[nodiscard]] LabelledSamples text_samples(std::string_view text,
                                           const std::filesystem::path& file,
                                           std::int64_t length);

/// `samples` noisy pictures, class i mod `classes` at place i: each class has a pattern of its own,
/// shifted by up to one pixel, with noise of standard deviation `noise` on values between 0 and 1.
/// Depends on the arguments alone.
[[nodiscard]] LabelledSamples synthetic_samples(const SampleShape& shape,
                                                std::int64_t classes,
                                                std::int64_t samples,
                                                double noise,
                                                std::uint64_t seed);

/// Every fifth sample, after mixing by `seed`, is for testing.
[[nodiscard]] TrainingData split_for_testing(const LabelledSamples& samples, std::uint64_t seed);

/// Which sample is the i-th of the training stream: every epoch goes through all in an order of its
/// own. Needs no state, so that every rank knows it.
class SampleOrder {
 public:
  SampleOrder(std::int64_t samples, std::uint64_t seed) : samples_(samples), seed_(seed) {}
  [[nodiscard]] std::int64_t at(std::int64_t position);

 private:
  std::int64_t samples_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;  // of that epoch
};

}  // namespace schedlab
