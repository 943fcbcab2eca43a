// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/labelled_samples.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

namespace schedlab {
namespace {

constexpr std::int64_t max_classes = 100'000;

/// Reads the lines of one file, and knows where it is.
class LabelledCsv {
 public:
  LabelledCsv(std::string_view text, const std::filesystem::path& file, const SampleShape& shape)
      : text_(text), file_(file.string()) {
    result_.shape = shape;
  }

  LabelledSamples read() {
    next_line();  // the heading
    while (!text_.empty()) {
      const std::string_view line = next_line();
      if (!line.empty()) add(line);
    }
    if (result_.labels.empty()) {
      throw InputError({.file = file_,
                        .pointer = {},
                        .found = "no samples",
                        .expected = "a heading and then one line per sample",
                        .hint = {}});
    }
    result_.classes = 1 + *std::max_element(result_.labels.begin(), result_.labels.end());
    return std::move(result_);
  }

 private:
  std::string_view next_line() {
    ++line_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  [[noreturn]] void reject(std::string found, std::string expected) const {
    throw InputError({.file = file_,
                      .pointer = fmt::format("line {}", line_),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = {}});
  }

  void add(std::string_view line) {
    const std::int64_t wanted = result_.shape.elements() + 1;
    const std::int64_t fields = 1 + std::count(line.begin(), line.end(), ',');
    if (fields != wanted) {
      reject(fmt::format("{} fields", fields),
             fmt::format(
                 "{}, the class and the values of a {} sample", wanted, to_string(result_.shape)));
    }
    const double label = number(take_field(line));
    if (label != std::floor(label) || label < 0 || label >= static_cast<double>(max_classes)) {
      reject(fmt::format("class {}", label), "a whole number from 0");
    }
    result_.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t i = 1; i < wanted; ++i) {
      result_.values.push_back(static_cast<float>(number(take_field(line))));
    }
  }

  static std::string_view take_field(std::string_view& line) {
    const std::size_t end = std::min(line.find(','), line.size());
    std::string_view field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
    return field;
  }

  [[nodiscard]] double number(std::string_view field) const {
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value)) {
      reject(fmt::format("\"{}\"", field), "a number");
    }
    return value;
  }

  std::string_view text_;
  std::string file_;
  LabelledSamples result_;
  std::size_t line_ = 0;
};

/// A wave of its own per class, between 0 and 1.
double pattern(std::int64_t label, std::int64_t row, std::int64_t column, std::int64_t channel) {
  const auto number = static_cast<double>(label + 1);
  const double angle = std::numbers::phi * number;  // never twice the same direction
  const double along = std::cos(angle) * static_cast<double>(row) +
                       std::sin(angle) * static_cast<double>(column + channel);
  return 0.5 + 0.5 * std::sin(along * (0.6 + 0.12 * number) + number);
}

double normal(Rng& rng) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.uniform());
}

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Rng rng(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace

LabelledSamples read_labelled_csv(std::string_view text,
                                  const std::filesystem::path& file,
                                  const SampleShape& shape) {
  return LabelledCsv(text, file, shape).read();
}

LabelledSamples synthetic_samples(const SampleShape& shape,
                                  std::int64_t classes,
                                  std::int64_t samples,
                                  double noise,
                                  std::uint64_t seed) {
  LabelledSamples result{.shape = shape, .classes = classes, .values = {}, .labels = {}};
  Rng rng(seed);
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t label = s % classes;
    const auto down = static_cast<std::int64_t>(rng.below(3)) - 1;
    const auto right = static_cast<std::int64_t>(rng.below(3)) - 1;
    result.labels.push_back(static_cast<std::int32_t>(label));
    for (std::int64_t row = 0; row < shape.height; ++row) {
      for (std::int64_t column = 0; column < shape.width; ++column) {
        for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
          const double value = pattern(label, row + down, column + right, channel);
          result.values.push_back(static_cast<float>(value + noise * normal(rng)));
        }
      }
    }
  }
  return result;
}

LabelledSamples text_samples(std::string_view text,
                             const std::filesystem::path& file,
                             std::int64_t length) {
  const auto window = static_cast<std::size_t>(length);
  if (text.size() < 5 * window + 1) {
    throw InputError({.file = file.string(),
                      .pointer = {},
                      .found = fmt::format("{} characters", text.size()),
                      .expected = fmt::format(
                          "at least {}: five windows of {} and one more", 5 * window + 1, window),
                      .hint = {}});
  }
  std::array<std::int32_t, 256> number{};
  for (const char c : text) number.at(static_cast<unsigned char>(c)) = 1;
  std::int32_t classes = 0;
  for (std::int32_t& each : number) each = each == 0 ? 0 : classes++;
  LabelledSamples result{.shape = {length, 1, 1}, .classes = classes, .values = {}, .labels = {}};
  result.labels_per_sample = length;
  const auto at = [&](std::size_t i) { return number.at(static_cast<unsigned char>(text[i])); };
  for (std::size_t i = 0; i < (text.size() - 1) / window * window; ++i) {
    result.values.push_back(static_cast<float>(at(i)));
    result.labels.push_back(at(i + 1));
  }
  return result;
}

TrainingData split_for_testing(const LabelledSamples& samples, std::uint64_t seed) {
  TrainingData data;
  for (LabelledSamples* part : {&data.train, &data.test}) {
    part->shape = samples.shape;
    part->classes = samples.classes;
    part->labels_per_sample = samples.labels_per_sample;
  }
  const auto order = shuffled(samples.size(), seed);
  for (std::size_t i = 0; i < order.size(); ++i) {
    LabelledSamples& part = i % 5 == 4 ? data.test : data.train;
    const auto values = samples.sample(order[i]);
    part.values.insert(part.values.end(), values.begin(), values.end());
    const auto labels = samples.labels_of(order[i]);
    part.labels.insert(part.labels.end(), labels.begin(), labels.end());
  }
  return data;
}

std::int64_t SampleOrder::at(std::int64_t position) {
  const std::int64_t epoch = position / samples_;
  if (epoch != epoch_) {
    epoch_ = epoch;
    order_ = shuffled(samples_, Rng{seed_ + static_cast<std::uint64_t>(epoch)}.next());
  }
  return order_[static_cast<std::size_t>(position % samples_)];
}

}  // namespace schedlab
