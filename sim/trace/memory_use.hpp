// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// Between which spans of a trace a tensor holds its bytes; indices into Trace::tasks.
struct TensorLife {
  static constexpr std::uint32_t never = 0xFFFF'FFFFU;

  std::uint32_t first = never;  ///< its first writer; without one (an input) its first reader
  std::uint32_t last = never;   ///< its last reader, else its last writer
};

/// The life of one tensor, by the rules of TensorTable. `span_of`: index of the span of each task,
/// `never` where it did not run; `starts`, `ends`: of each span. Both ends are `never` if no task
/// that uses the tensor ran.
[[nodiscard]] TensorLife tensor_life(const TensorTable& tensors,
                                     TensorId tensor,
                                     std::span<const std::uint32_t> span_of,
                                     std::span<const std::int64_t> starts,
                                     std::span<const std::int64_t> ends);

/// Bytes held from `at` to the next point.
struct MemoryPoint {
  Time at{};
  Bytes held{};

  friend bool operator==(const MemoryPoint&, const MemoryPoint&) = default;
};

/// Tensors of one kind that are held at the peak.
struct MemoryHolder {
  std::string name;  ///< what their names have in common: "dG" of "dG(3,9)"; else who writes them
  std::uint32_t tensors = 0;
  Bytes bytes{};

  friend bool operator==(const MemoryHolder&, const MemoryHolder&) = default;
};

/// What the tensors of a run held on one device.
struct DeviceMemory {
  std::string device;
  Bytes capacity{};    ///< 0: unlimited
  Bytes persistent{};  ///< held all the time
  Bytes peak{};
  Time peak_at{};                     ///< the first moment of the peak
  std::vector<MemoryPoint> curve;     ///< from 0; a point where something changes
  std::vector<MemoryHolder> holders;  ///< at the peak, most bytes first, then by name

  /// The run does not fit.
  [[nodiscard]] bool exceeded() const { return capacity.count() > 0 && peak > capacity; }
};

/// Exactly, from the life times of the tensors in this trace; one entry per device, the peaks are
/// those of Summary::peak_memory. A tensor lives on the device of the task that begins its life. At
/// one instant ends come before starts: what is freed can be used again at once. No allocator is
/// modelled: no fragmentation, no cache, no work space of libraries. Empty if the graph has no
/// tensors. Cost   O(tasks * log tasks + tensor uses).
[[nodiscard]] std::vector<DeviceMemory> memory_use(const Problem& problem, const Trace& trace);

/// The curve in `count` equal slices of [0, end], each with the most that is held in it, so that no
/// peak is lost. Empty for an end of 0.
[[nodiscard]] std::vector<Bytes> memory_in_slices(const std::vector<MemoryPoint>& curve,
                                                  Time end,
                                                  std::size_t count);

/// "1.50 GiB"
[[nodiscard]] std::string readable_bytes(Bytes bytes);

/// Throws InfeasibleError with capacity, peak, its time and who holds most of it, for the first
/// device whose capacity is exceeded.
void expect_memory_suffices(const std::vector<DeviceMemory>& memory);

}  // namespace schedlab
