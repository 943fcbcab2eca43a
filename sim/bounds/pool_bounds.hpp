// SPDX-License-Identifier: Apache-2.0
// Internal to the ladder: bounds of one resource from what tasks take of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace schedlab::bounds {

/// A task that takes some of a resource; times in picoseconds.
struct Use {
  std::int64_t head = 0;      ///< no earlier start
  std::int64_t tail = 0;      ///< least time after its end
  std::int64_t amount = 0;    ///< in all, above 0
  std::int64_t duration = 0;  ///< least time from start to end
};

/// Tasks with heads and tails from these on show this bound.
struct SubsetBound {
  std::int64_t bound = 0;
  std::int64_t head = 0;
  std::int64_t tail = 0;
};
/// max over (r, q) of r + ceil(amount of {head >= r, tail >= q} / capacity) + q, exactly for up to
/// most_tail_steps different tails and else for so many of them, refined. Reorders `uses`. Cost O(n
/// log n).
[[nodiscard]] SubsetBound subset_bound(std::vector<Use>& uses, std::int64_t capacity);

/// A use whose tail is known by its place among different ones.
struct RankedUse {
  std::int64_t head = 0;
  std::int64_t amount = 0;  ///< above 0
  std::uint32_t place = 0;
};
/// Of more different tails than that subset_bound() looks at some.
inline constexpr std::size_t most_tail_steps = 4096;
/// The same of uses by falling head. `tails`: at most most_tail_steps, rising, some perhaps of no
/// use. Cost  O(n log tails).
[[nodiscard]] SubsetBound subset_bound(std::span<const RankedUse> uses,
                                       std::span<const std::int64_t> tails,
                                       std::int64_t capacity);

/// The least multiple of `step` that is no less.
[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t time, std::int64_t step) {
  return (time + step - 1) / step * step;
}

struct WindowBound {
  std::int64_t bound = 0;
  std::int64_t deadline = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
/// Raises `known`, a lower bound, by windows that a plan no longer than it would overfill. Tasks
/// take amount / duration all the time. At most `work` / n begins of windows are looked at, and
/// none if that is below 4. Bounds are rounded up to multiples of `step`. nullopt: none is
/// overfilled. Cost  O(work log n) a raise, up to 16.
[[nodiscard]] std::optional<WindowBound> energetic_bound(const std::vector<Use>& uses,
                                                         std::int64_t capacity,
                                                         std::int64_t known,
                                                         std::int64_t step,
                                                         std::size_t work);

}  // namespace schedlab::bounds
