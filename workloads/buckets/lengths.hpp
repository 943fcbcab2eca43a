// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// The longest sequence that is accepted, so that tables by length stay small; assumed.
inline constexpr std::int64_t longest_accepted_length = 1'000'000;
/// The most sequences of one data set; assumed.
inline constexpr std::int64_t max_sequences = 50'000'000;

/// How the lengths of the sequences of a data set are distributed: whole numbers from 1 to
/// longest(). All factories throw InputError (without a file) for parameters out of range.
class LengthDistribution {
 public:
  /// Every length from `shortest` to `longest` is equally likely.
  [[nodiscard]] static LengthDistribution uniform(std::int64_t shortest, std::int64_t longest);
  /// F(x) = (x / longest)^exponent; exponent 0.5 is the square root that is said of speech.
  [[nodiscard]] static LengthDistribution power_law(std::int64_t longest, double exponent);
  /// exp(N(ln median, sigma^2)), rounded up, given that it is at most `longest`.
  [[nodiscard]] static LengthDistribution log_normal(std::int64_t longest,
                                                     double median,
                                                     double sigma);
  /// Lengths with their weights, in any order; weights are 0 or more.
  [[nodiscard]] static LengthDistribution histogram(
      const std::vector<std::pair<std::int64_t, double>>& weights);
  /// Each of these sequences is equally likely.
  [[nodiscard]] static LengthDistribution of(const std::vector<std::int64_t>& lengths);

  [[nodiscard]] std::int64_t longest() const {
    return static_cast<std::int64_t>(cumulative_.size());
  }
  /// Share of the sequences that are at most this long; any length.
  [[nodiscard]] double cumulative(std::int64_t length) const;
  /// Share of the sequences of exactly this length.
  [[nodiscard]] double probability(std::int64_t length) const {
    return cumulative(length) - cumulative(length - 1);
  }
  [[nodiscard]] double mean() const;
  /// The shortest length that at least this share of the sequences does not exceed; share in
  /// [0, 1].
  [[nodiscard]] std::int64_t quantile(double share) const;
  /// Independent draws; the same for equal seeds on every machine.
  [[nodiscard]] std::vector<std::int64_t> draw(std::int64_t count, std::uint64_t seed) const;

 private:
  explicit LengthDistribution(std::vector<double> cumulative);

  std::vector<double> cumulative_;  // of length 1, 2, ...; ends with 1, and rises to it
};

/// The lengths in a CSV file, in its order. Without a header line each line is one length; with
/// one, the column `length` counts, and `count`, if there is one, says how many sequences have it.
/// Blank lines before and after the lengths and lines that begin with # are skipped. `file` is
/// named in messages. Throws InputError with the line: no number, a length below 1 or above
/// longest_accepted_length, a line with too few fields or without any between others; more than
/// max_sequences; a file without lengths.
[[nodiscard]] std::vector<std::int64_t> read_lengths(std::string_view text,
                                                     const std::string& file);

}  // namespace schedlab
