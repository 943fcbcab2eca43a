// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::fluid {

/// Numbers to deal with, filled and emptied in every event: to add one is a store and no call.
class Worklist {
 public:
  void clear() { size_ = 0; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[gnu::always_inline]] void push_back(std::uint32_t number) {
    if (size_ == items_.size()) [[unlikely]]
      grow();
    items_[size_++] = number;
  }
  /// Must not be empty.
  std::uint32_t take_back() { return items_[--size_]; }
  [[nodiscard]] std::uint32_t* begin() { return items_.data(); }
  [[nodiscard]] std::uint32_t* end() { return items_.data() + size_; }

  [[nodiscard]] std::size_t memory_bytes() const {
    return items_.capacity() * sizeof(std::uint32_t);
  }

 private:
  [[gnu::noinline]] void grow() { items_.resize(2 * items_.size() + 16); }

  std::vector<std::uint32_t> items_;  // the first size_ are the list
  std::size_t size_ = 0;
};

}  // namespace schedlab::fluid
