// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// A task on one device: `share` of its units on average over [start, end), in picoseconds.
struct SharedSpan {
  std::int64_t start = 0;
  std::int64_t end = 0;
  double share = 0;
};

/// Units in use that a sum of mean shares does not show in [from, to).
struct HiddenUse {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double share = 0;
};

/// Where kernels take units from one another only the mean share of each is known. Where the sum of
/// these means exceeds the device, some tasks had fewer units than their mean just then, and more
/// at other moments. Here work is put off while the device is full (what ends first is served
/// first), and where a task has ended too early for that, it is brought forward (what started last
/// is served first). The sum of the means, cut off at 1, plus what is returned is at most 1 at any
/// time and adds up to the work of all tasks; what finds no capacity, since no device could have
/// run it, is left out.
///
/// Cost  O(moments * tasks that run at once).
[[nodiscard]] std::vector<HiddenUse> spread_cut_work(std::span<const SharedSpan> spans);

}  // namespace schedlab
