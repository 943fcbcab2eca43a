// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace schedlab::detail {

/// Memory that comes and goes in a few sizes: what is given back is kept for the next of its size,
/// so that no page is taken from the system twice. Small arrays are cut from slabs of huge pages.
/// Used by one thread at a time.
class KeptLines {
 public:
  KeptLines() = default;
  KeptLines(const KeptLines&) = delete;
  KeptLines& operator=(const KeptLines&) = delete;
  ~KeptLines();

  /// At a multiple of a cache line; not set to anything. Throws std::bad_alloc.
  [[nodiscard]] void* take(std::size_t bytes);
  /// What take() has returned for as many bytes.
  void give_back(void* memory, std::size_t bytes);

 private:
  struct Slab {
    char* memory = nullptr;
    std::size_t bytes = 0;
  };
  [[nodiscard]] void* fresh(std::size_t bytes);

  std::vector<Slab> slabs_;
  std::size_t used_ = 0;                            // of the last slab
  std::map<std::size_t, std::vector<void*>> free_;  // by size; the last one is the warmest
};

}  // namespace schedlab::detail
