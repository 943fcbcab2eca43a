// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/crossovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// The cases that differ in one axis alone.
struct Line {
  std::string rest;
  std::vector<std::pair<double, const SweepCase*>> cases;
};

/// In the order of their first cases.
std::vector<Line> lines_along(const SweepView& view,
                              std::size_t axis,
                              const std::vector<bool>& varies) {
  std::vector<Line> lines;
  std::map<std::vector<Cell>, std::size_t> known;
  for (const SweepCase& one : view.cases()) {
    const auto value = cell_number(one.values[axis]);
    if (!value) continue;
    std::vector<Cell> others = one.values;
    others[axis] = {};
    const auto [entry, added] = known.try_emplace(std::move(others), lines.size());
    if (added) {
      Line line;
      for (std::size_t i = 0; i < one.values.size(); ++i) {
        const std::string text = cell_text(one.values[i]);
        if (i == axis || text.empty() || !varies[i]) continue;
        line.rest += fmt::format(
            "{}{} = {}", line.rest.empty() ? "" : ", ", view.name(view.case_axes()[i]), text);
      }
      lines.push_back(std::move(line));
    }
    lines[entry->second].cases.emplace_back(*value, &one);
  }
  for (Line& line : lines) {
    std::stable_sort(line.cases.begin(), line.cases.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
  }
  return lines;
}

void compare(const Line& line,
             std::size_t axis,
             std::pair<std::size_t, std::size_t> policies,
             Crossovers& result) {
  std::size_t compared = 0;
  std::optional<double> last;  // value at which one of them was faster
  bool second_was_faster = false;
  bool turns = false;
  for (const auto& [value, one] : line.cases) {
    const SweepRun* a = SweepView::shortest(*one, policies.first);
    const SweepRun* b = SweepView::shortest(*one, policies.second);
    if (a == nullptr || b == nullptr) continue;
    ++compared;
    if (a->makespan_us == b->makespan_us) continue;
    const bool second_is_faster = b->makespan_us < a->makespan_us;
    if (last && second_is_faster != second_was_faster) {
      turns = true;
      const auto [policy, other] =
          second_is_faster ? std::pair{policies.second, policies.first} : policies;
      result.found.push_back({axis, line.rest, policy, other, *last, value});
    }
    last = value;
    second_was_faster = second_is_faster;
  }
  result.lines += compared > 1 ? 1 : 0;
  result.turning += turns ? 1 : 0;
}

}  // namespace

Crossovers crossovers(const SweepView& view) {
  Crossovers result;
  std::vector<bool> varies;
  for (const std::size_t column : view.case_axes()) varies.push_back(view.varies(column));
  for (std::size_t i = 0; i < view.case_axes().size(); ++i) {
    if (!varies[i]) continue;
    const std::size_t column = view.case_axes()[i];
    for (const Line& line : lines_along(view, i, varies)) {
      for (std::size_t a = 0; a < view.policies().size(); ++a) {
        for (std::size_t b = a + 1; b < view.policies().size(); ++b) {
          compare(line, column, {a, b}, result);
        }
      }
    }
  }
  return result;
}

}  // namespace schedlab
