// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <algorithm>
#include <string>

namespace schedlab::testing {

/// The first difference of two graphs in words, empty if they are equal in everything a reader can
/// see
/// (`ignore_names`: but the names of operations).
inline std::string difference(const TaskGraph& a, const TaskGraph& b, bool ignore_names = false) {
  const auto same = [](auto x, auto y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (a.task_count() != b.task_count()) return "task_count";
  if (a.edge_count() != b.edge_count()) return "edge_count";
  for (const TaskId t : a.tasks()) {
    const std::string at = " of task " + std::to_string(t.value()) + " " + a.name(t);
    Operation x = a.operation(t);
    Operation y = b.operation(t);
    if (ignore_names) x.name = y.name;
    if (x != y) return "operation" + at;
    if (!ignore_names && a.name(t) != b.name(t)) return "name" + at;
    if (a.tags(t) != b.tags(t)) return "tags" + at;
    if (a.fixed_duration(t) != b.fixed_duration(t)) return "duration" + at;
    if (!same(a.predecessors(t), b.predecessors(t))) return "predecessors" + at;
    if (!same(a.successors(t), b.successors(t))) return "successors" + at;
  }
  const TensorTable& p = a.tensors();
  const TensorTable& q = b.tensors();
  if (p.size() != q.size()) return "number of tensors";
  for (const TensorId id : p.ids()) {
    const std::string at = " of tensor " + std::to_string(id.value()) + " " + p.name(id);
    if (p.name(id) != q.name(id)) return "name" + at;
    if (p.bytes(id) != q.bytes(id)) return "bytes" + at;
    if (p.accumulate(id) != q.accumulate(id)) return "accumulate" + at;
    if (p.persistent(id) != q.persistent(id)) return "persistent" + at;
    if (!same(p.writers(id), q.writers(id))) return "writers" + at;
    if (!same(p.readers(id), q.readers(id))) return "readers" + at;
  }
  return {};
}

}  // namespace schedlab::testing
