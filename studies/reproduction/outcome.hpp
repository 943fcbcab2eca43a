// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/sweep/table.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/reproduction/samples.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// How a published point and the simulated samples stand to each other.
enum class ClaimStatus : std::uint8_t {
  within,       ///< what it is judged by meets it: the median of the samples, or all of them
  in_part,      ///< some samples meet it, or the median is judged and they lie on both sides of it
  missed,       ///< none
  not_run,      ///< there are no samples (yet)
  not_covered,  ///< nothing is simulated; the claim says why
};
template <>
struct EnumNames<ClaimStatus> {
  static constexpr auto names = name_list("within", "in_part", "missed", "not_run", "not_covered");
};

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
  /// Relative distance of the median, or of the worst sample where all are judged, from the printed
  /// number or range; 0 inside. None where words are printed.
  std::optional<double> error;
  std::size_t missing = 0;          ///< runs without a result
  std::vector<AxisEffect> effects;  ///< by falling effect
  std::string statistics;           ///< of what is not met: what moves it, what bounds the runs
};

[[nodiscard]] bool is_met(const PublishedPoint& point, double value);

/// Compares a published point with the runs of its grid. The claim and the point must outlive the
/// outcome. `table` is not used where nothing is simulated.
[[nodiscard]] Outcome compare(const Claim& claim, const PublishedPoint& point, const Table& table);

}  // namespace schedlab
