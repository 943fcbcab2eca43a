// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/reproduction/samples.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How a published point and the simulated samples stand to each other.
enum class ClaimStatus : std::uint8_t {
  within,       ///< the median of the samples meets it
  in_part,      ///< some samples meet it or lie on both sides of it, the median does not meet it
  missed,       ///< none
  not_run,      ///< there are no samples (yet)
  not_covered,  ///< nothing is simulated; the claim says why
};
[[nodiscard]] std::string_view to_string(ClaimStatus status);

/// Quartiles are samples (nearest rank); the median is the lower of the middle two.
struct Spread {
  std::size_t count = 0;
  double min = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double max = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

/// What one open axis does to the samples.
struct AxisEffect {
  struct At {
    Cell value;
    std::size_t count = 0;
    double median = 0;
    double share_met = 0;
  };
  std::string axis;
  std::vector<At> values;  ///< rising
  double effect = 1;       ///< largest over smallest median
};

/// One row of a reproduction.
struct Outcome {
  const Claim* claim = nullptr;
  const PublishedPoint* point = nullptr;
  ClaimStatus status = ClaimStatus::not_run;
  Spread simulated;
  double share_met = 0;  ///< of the samples
  /// Median over the published value, less 1; of a range the relative distance to it, 0 inside.
  std::optional<double> error;
  std::size_t missing = 0;          ///< runs without a result
  std::vector<AxisEffect> effects;  ///< by falling effect
  std::string cause;                ///< of what is not met: worked out of the runs
};

[[nodiscard]] bool is_met(const PublishedPoint& point, double value);

/// Compares a published point with the runs of its grid. The claim and the point must outlive the
/// outcome. `table` is not used where nothing is simulated.
[[nodiscard]] Outcome compare(const Claim& claim, const PublishedPoint& point, const Table& table);

}  // namespace schedlab
