// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_json_names.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace schedlab::plan_json {
namespace {

/// FNV-1a, 64 bits (Fowler, Noll, Vo, 1991): short strings, the same on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3ULL;
  }
  return hash;
}

}  // namespace

TaskNames::TaskNames(const TaskGraph& graph) : graph_(graph) {
  entries_.reserve(graph.task_count());
  for (const TaskId task : graph.tasks()) entries_.emplace_back(hash_of(graph.name(task)), task);
  std::sort(entries_.begin(), entries_.end());
}

bool TaskNames::unique(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{hash, TaskId{0}});
  return at != entries_.end() && at->first == hash &&
         (at + 1 == entries_.end() || (at + 1)->first != hash);
}

TaskNames::Match TaskNames::find(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  Match match;
  auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{hash, TaskId{0}});
  for (; at != entries_.end() && at->first == hash; ++at) {
    if (graph_.name(at->second) != name) continue;
    if (match.task.valid()) {
      match.ambiguous = true;
      break;
    }
    match.task = at->second;
  }
  return match;
}

std::string TaskNames::closest(std::string_view name) const {
  std::vector<std::string> names;
  names.reserve(graph_.task_count());
  for (const TaskId task : graph_.tasks()) names.push_back(graph_.name(task));
  return closest_spelling(name, names);
}

}  // namespace schedlab::plan_json
