// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

std::string compose(const InputProblem& p) {
  std::string text = p.file;
  if (!p.pointer.empty()) text += (text.empty() ? "" : ": ") + p.pointer;
  if (!text.empty()) text += ": ";
  if (!p.found.empty()) text += "found " + p.found;
  if (!p.expected.empty()) text += (p.found.empty() ? "expected " : ", expected ") + p.expected;
  if (!p.hint.empty()) text += "\n  " + p.hint;
  // what() ends at the first of them.
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) {
    text.replace(at, 1, "\\x00");
  }
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

InputError::InputError(InputProblem problem)
    : std::runtime_error(compose(problem)), problem_(std::move(problem)) {}

InfeasibleError::InfeasibleError(const std::string& message,
                                 std::string resource,
                                 std::string needed,
                                 std::string available)
    : std::runtime_error(message),
      resource_(std::move(resource)),
      needed_(std::move(needed)),
      available_(std::move(available)) {}

void detail::contract_violation(const char* condition,
                                const char* file,
                                int line,
                                const std::string& culprit) {
  throw ContractViolation(
      fmt::format("contract violated: {} ({}:{}): {}", condition, file, line, culprit));
}

std::string closest_spelling(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > limit) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace schedlab
