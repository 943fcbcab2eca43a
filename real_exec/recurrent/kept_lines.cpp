// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/kept_lines.hpp"

#include "real_exec/recurrent/recurrent_state.hpp"

// With the address sanitizer what is given back must not be touched.
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#endif

namespace schedlab::detail {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t slab_bytes = std::size_t{4} << 20U;  // two huge pages of x86-64

/// Whole lines and one more: arrays of a power of two would share few sets of a cache.
std::size_t padded_bytes(std::size_t bytes) {
  return (bytes + cache_line - 1) / cache_line * cache_line + cache_line;
}

}  // namespace

KeptLines::~KeptLines() {
  for (const Slab& slab : slabs_) {
    ASAN_UNPOISON_MEMORY_REGION(slab.memory, slab.bytes);
    free_lines(slab.memory, slab.bytes);
  }
}

void* KeptLines::fresh(std::size_t bytes) {
  const std::size_t place = padded_bytes(bytes);
  // A large one has a slab of its own, which stands before the one that is being cut.
  if (place > slab_bytes / 4) {
    slabs_.reserve(slabs_.size() + 1);
    auto* const memory = static_cast<char*>(allocate_lines(place));
    slabs_.insert(slabs_.empty() ? slabs_.end() : slabs_.end() - 1, {memory, place});
    if (slabs_.size() == 1) used_ = place;
    return memory;
  }
  if (slabs_.empty() || used_ + place > slabs_.back().bytes) {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back({static_cast<char*>(allocate_lines(slab_bytes)), slab_bytes});
    used_ = 0;
  }
  void* const memory = slabs_.back().memory + used_;
  used_ += place;
  return memory;
}

void* KeptLines::take(std::size_t bytes) {
  std::vector<void*>& same = free_[bytes];
  if (same.empty()) return fresh(bytes);
  void* const memory = same.back();
  same.pop_back();
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  return memory;
}

void KeptLines::give_back(void* memory, std::size_t bytes) {
  ASAN_POISON_MEMORY_REGION(memory, bytes);
  free_[bytes].push_back(memory);
}

}  // namespace schedlab::detail
