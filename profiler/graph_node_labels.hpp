// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/work_id.hpp"

#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace schedlab {

/// Which work the nodes of device graphs do. Nodes that a thread creates between push() and pop()
/// belong to what it pushed last, also where a library creates them during stream capture; a cloned
/// node (instantiation, a child graph) does what its original does. Thread-safe.
class GraphNodeLabels {
 public:
  void push(WorkId work) {
    const std::scoped_lock lock{mutex_};
    current_[std::this_thread::get_id()].push_back(work);
  }
  /// Nothing happens if this thread has pushed nothing.
  void pop() {
    const std::scoped_lock lock{mutex_};
    const auto found = current_.find(std::this_thread::get_id());
    if (found == current_.end()) return;
    found->second.pop_back();
    if (found->second.empty()) current_.erase(found);
  }
  void created(std::uint64_t node) {
    const std::scoped_lock lock{mutex_};
    const auto found = current_.find(std::this_thread::get_id());
    if (found != current_.end()) labels_[node] = found->second.back();
  }
  void cloned(std::uint64_t node, std::uint64_t original) {
    const std::scoped_lock lock{mutex_};
    const auto found = labels_.find(original);
    if (found != labels_.end()) labels_[node] = WorkId{found->second};
  }
  [[nodiscard]] std::unordered_map<std::uint64_t, WorkId> labels() const {
    const std::scoped_lock lock{mutex_};
    return labels_;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::thread::id, std::vector<WorkId>> current_;  // never empty vectors
  std::unordered_map<std::uint64_t, WorkId> labels_;
};

}  // namespace schedlab
