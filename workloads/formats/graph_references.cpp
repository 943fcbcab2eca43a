// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace schedlab::detail {
namespace {

constexpr std::array<std::string_view, 3> use_keys{"needs", "written_by", "read_by"};
constexpr std::size_t max_compared = 100'000;  // names; a second of edit distances

}  // namespace

void GraphReferences::resolve(TaskGraphBuilder& builder, JsonPlace& place) {
  for (const Forward& forward : forward_) {
    if (forward.before < builder.task_count()) continue;
    place.enter("tasks");
    place.element(forward.task);
    place.field(use_keys[0]);
    place.inner(forward.element);
    place.refuse(std::to_string(forward.before),
                 fmt::format("an index below {}, the number of tasks", builder.task_count()));
  }
  for (const Named& reference : named_) {
    const auto found = task_by_name_.find(reference.name);
    if (found == task_by_name_.end()) refuse(reference, builder.task_count(), place);
    if (reference.use == ReferenceUse::needs) {
      builder.add_edge(TaskId{found->second}, TaskId{reference.owner});
    } else {
      by_index(reference.use, reference.owner, found->second);
    }
  }
  for (const auto& [task, tensor] : writes_) builder.writes(task, tensor);
  for (const auto& [task, tensor] : reads_) builder.reads(task, tensor);
}

void GraphReferences::refuse(const Named& reference,
                             std::size_t task_count,
                             JsonPlace& place) const {
  place.enter(reference.use == ReferenceUse::needs ? "tasks" : "tensors");
  place.element(reference.owner);
  place.field(use_keys[static_cast<std::size_t>(reference.use)]);
  place.inner(reference.element);
  // The first tasks of the file, whatever the order of the hash table.
  std::vector<std::pair<std::uint32_t, std::string_view>> known;
  for (const auto& [name, task] : task_by_name_) known.emplace_back(task, name);
  std::sort(known.begin(), known.end());
  std::vector<std::string> names;
  for (const auto& [task, name] : known) {
    if (names.size() < max_compared) names.emplace_back(name);
  }
  place.refuse_name(
      "task", reference.name, names, known.size(), static_cast<std::int64_t>(task_count));
}

}  // namespace schedlab::detail
