// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/kineto.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab::testing {

/// A trace with these events, which are separated by commas.
inline std::string kineto_text(std::string_view events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + std::string{events} + "]}";
}

inline ImportedTrace read_text(std::string_view text, const KinetoReading& reading = {}) {
  TextSource source{text};
  return read_kineto(source, "small.json", reading);
}

/// How often a problem was counted.
inline std::uint64_t problem_count(const ImportedTrace& trace, const std::string& name) {
  const auto found = trace.problems.entries().find(name);
  return found == trace.problems.entries().end() ? 0 : found->second.count;
}

}  // namespace schedlab::testing
