// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// What larger graphs need is not kept: finding it again takes longer than what it spares.
inline constexpr std::size_t max_recent_tasks = 4096;

/// A table of what was found last for each of many numbers (of policies, say); numbers that are
/// equal modulo 4096 share a place. Holds no more than 32 MiB: then it is emptied. An Entry has
/// `number` and `bytes`, what it holds. Not thread-safe.
template <class Entry>
class RecentSlots {
 public:
  /// What is at the place of `number`, which may be of another one; nullptr: nothing yet.
  [[nodiscard]] Entry* find(std::uint64_t number) {
    return entries_.empty() ? nullptr : &entries_[number % max_entries];
  }

  /// The place of `number`, for something of so many bytes.
  [[nodiscard]] Entry& make_entry(std::uint64_t number, std::size_t bytes) {
    if (entries_.empty() || bytes_ + bytes > max_bytes) {
      entries_.clear();  // so that memory is given back
      entries_.resize(max_entries);
      bytes_ = 0;
    }
    Entry& entry = entries_[number % max_entries];
    bytes_ += bytes - entry.bytes;
    entry.number = number;
    entry.bytes = bytes;
    return entry;
  }

 private:
  static constexpr std::size_t max_entries = 4096;
  static constexpr std::size_t max_bytes = std::size_t{32} << 20U;

  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace schedlab
