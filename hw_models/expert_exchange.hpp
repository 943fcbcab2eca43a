// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/machine/fitted_parameters.hpp"

#include <cstdint>
#include <span>

namespace schedlab {

/// Tokens of a mixture-of-experts layer on their way to their experts, or back.
enum class ExpertParameter : std::uint8_t {
  base_us,
  us_per_kib,
  token_us,
  copy_us,
  unit_gb_per_s,
  link_share,
  overlap,
  fill_us,
};
/// Ranges and meanings, in the order of the enumerators.
[[nodiscard]] std::span<const ParameterInfo> expert_parameters();

/// What each rank of a node sends (dispatch) or gets back and adds (combine).
struct ExpertExchange {
  double tokens = 1;   ///< of each rank
  double hidden = 1;   ///< elements of a token
  double top_k = 1;    ///< experts of a token
  double experts = 1;  ///< over all ranks, equally many on each
  double ranks = 8;
  double units = 1;  ///< compute units that the kernel is given
};

/// Ranks that hold at least one of a token's experts, if these are drawn at random: a token goes to
/// each of them once.
[[nodiscard]] double expected_copies(const ExpertExchange& exchange);

/// What an exchange took, us, and what of it.
struct ExchangeTime {
  double us = 0;
  double units_us = 0;  ///< of the units given
  double link_us = 0;   ///< of a device's link
};

/// Time of dispatch or combine inside a node:
///
///   bytes = 2 hidden                               of a token; what really travels is in the rates
///   units = tokens (token_us + copies (copy_us + bytes / unit_gb_per_s)) / units given
///   link  = tokens copies bytes / (link_share x link)
///   move  = (units^p + link^p)^(1/p)               p: overlap; large: the slower of both
///   time  = base_us + KiB of a token x us_per_kib + move + fill_us move / (move + 50 us)
///
/// The last is what filling and emptying the pipeline of chunks adds, nothing where nothing is
/// moved. Valid for: 4 to 24 units, 1 to 131072 tokens, hidden 2048 to 7168, one node.
[[nodiscard]] ExchangeTime exchange_time(const FittedParameters& fitted,
                                         const ExpertExchange& exchange,
                                         Bandwidth link);

}  // namespace schedlab
