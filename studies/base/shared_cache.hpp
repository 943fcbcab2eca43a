// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace schedlab {

/// Values that several threads use, made once per key. When more than `capacity` bytes are held the
/// oldest are forgotten; whoever still holds one keeps it.
template <class Key, class Value>
class SharedCache {
 public:
  using Pointer = std::shared_ptr<const Value>;

  explicit SharedCache(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// `make()` returns a Value, `bytes(value)` its size. What `make` throws reaches the caller, and
  /// the next caller tries again.
  template <class Make, class SizeOf>
  [[nodiscard]] Pointer get(const Key& key, const Make& make, const SizeOf& bytes) {
    std::shared_ptr<Entry> entry = find(key);
    // No std::call_once: under a thread sanitizer it never ends after a call that threw.
    const std::lock_guard lock(entry->making);
    if (entry->value == nullptr) {
      entry->value = std::make_shared<const Value>(make());
      account(key, bytes(*entry->value));
    }
    return entry->value;
  }

 private:
  struct Entry {
    std::mutex making;
    Pointer value;
  };

  std::shared_ptr<Entry> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[key];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }

  void account(const Key& key, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ages_.emplace_back(key, bytes);
    held_ += bytes;
    while (held_ > capacity_ && ages_.size() > 1) {
      entries_.erase(ages_.front().first);
      held_ -= ages_.front().second;
      ages_.pop_front();
    }
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::deque<std::pair<Key, std::size_t>> ages_;
  std::size_t held_ = 0;
  std::size_t capacity_;
};

}  // namespace schedlab
