// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

enum class Severity : std::uint8_t { info, notice, data_loss, error };

/// Problems of the data that are counted, not thrown: a run goes on, and the report says what was
/// lost.
class Diagnostics {
 public:
  struct Entry {
    Severity severity = Severity::info;
    std::uint64_t count = 0;
    std::string example;  ///< the first occurrence, for the message
  };

  /// Counts one occurrence of the problem `name`.
  void add(Severity severity, const std::string& name, const std::string& example = {}) {
    Entry& entry = entries_[name];
    if (entry.count++ == 0) {
      entry.severity = severity;
      entry.example = example;
    }
  }
  /// By name, in alphabetical order.
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace schedlab
