// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <vector>

namespace schedlab {

/// A task of a chain: each waits for the one before.
struct ChainTask {
  Duration duration{0};
  bool collective = false;  ///< runs beside what other chains compute
};

/// In which order chains take turns on a device that computes one task at a time, with collectives
/// one at a time beside that: the number of a chain for each task of all. Of the chains that can go
/// on the one with the least left before its next collective does, so that this starts early;
/// those with none left fill in. Ties: the lower number. As durations are those of tasks alone,
/// the order is a guess where tasks slow each other down.
///
/// Cost O(tasks x chains x tasks between collectives).
[[nodiscard]] std::vector<std::size_t> interleave(
    const std::vector<std::vector<ChainTask>>& chains);

}  // namespace schedlab
