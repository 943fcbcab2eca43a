// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/kernel_times.hpp"

#include <vector>

namespace schedlab {

/// What passes between two tasks of a stream besides their kernels:
///
///   pause = fixed_seconds + last_block_share x time of the kernel before
///
/// The blocks of a kernel do not end together: cores are not equally fast at every moment, and the
/// stream goes on when the last one has ended, later than after the mean time of a block, which is
/// what counts as the kernel's. The longer the blocks, the longer that takes.
struct PauseFit {
  double fixed_seconds = 0;
  double last_block_share = 0;  ///< of kernels of several blocks; in [0, 1]
};

/// `cut`: behind kernels of a block for each of several workers; `whole`: behind those of one
/// block, which wait for no other. Where there is nothing cut: the median of the whole. Else a line
/// through medians: the pauses in twenty equal parts by the time of the kernel, the median slope
/// between two parts (Theil, 1950; Sen, JASA 63, 1968, doi 10.1080/01621459.1968.10480934), and the
/// median of what it leaves. Neither is below 0. Both empty: zero.
[[nodiscard]] PauseFit fit_pauses(std::vector<StreamPause> cut, std::vector<StreamPause> whole);

}  // namespace schedlab
