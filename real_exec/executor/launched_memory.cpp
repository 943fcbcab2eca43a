// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/launched_memory.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace schedlab::detail {

LaunchOrder::LaunchOrder(const TaskGraph& graph) : graph_(&graph), tasks_(graph.task_count()) {}

void LaunchOrder::reset() {
  for (Launched& task : tasks_) task = {};
  last_.clear();
  free_lane_.clear();
  lane_.clear();
}

/// Outside streams any lane whose last task has ended by then, else a new one.
std::size_t LaunchOrder::lane_of(const Launched& task, std::optional<std::uint32_t> stream) {
  if (stream) {
    const auto found = lane_.find(*stream);
    if (found != lane_.end()) return found->second;
    lane_[*stream] = last_.size();
  } else {
    for (std::size_t lane = 0; lane < task.before.size(); ++lane) {
      if (free_lane_[lane] && task.before[lane] == tasks_[last_[lane]].number) return lane;
    }
  }
  last_.push_back(TaskId::none());
  free_lane_.push_back(!stream);
  return last_.size() - 1;
}

void LaunchOrder::launch(TaskId task, std::optional<std::uint32_t> stream) {
  Launched made;
  const auto know = [&made](const Launched& other) {
    if (made.before.size() < other.before.size()) made.before.resize(other.before.size(), 0U);
    for (std::size_t lane = 0; lane < other.before.size(); ++lane) {
      made.before[lane] = std::max(made.before[lane], other.before[lane]);
    }
  };
  for (const TaskId needed : graph_->predecessors(task)) know(tasks_[needed]);
  made.lane = lane_of(made, stream);
  TaskId& last = last_[made.lane];
  if (last.valid()) know(tasks_[last]);
  made.number = last.valid() ? tasks_[last].number + 1 : 1;
  if (made.before.size() <= made.lane) made.before.resize(made.lane + 1, 0U);
  made.before[made.lane] = made.number;
  last = task;
  tasks_[task] = std::move(made);
}

bool LaunchOrder::ends_before(TaskId earlier, TaskId later) const {
  const Launched& first = tasks_[earlier];
  const Launched& second = tasks_[later];
  return earlier != later && first.number > 0 && first.lane < second.before.size() &&
         first.number <= second.before[first.lane];
}

namespace {

// Of addresses that cudaMalloc gives, in floats: 256 bytes (CUDA C++ Programming Guide).
constexpr std::size_t aligned = 64;
constexpr std::size_t without_end = std::size_t{1} << 60U;

}  // namespace

MemoryParts MemoryParts::endless() {
  MemoryParts parts;
  parts.sizes_.push_back(0);
  parts.regions_.emplace_back()[0] = {.size = without_end, .taken = false, .users = {}};
  return parts;
}

void MemoryParts::end_at(std::size_t floats) {
  const auto last = std::prev(regions_.front().end());
  SCHEDLAB_EXPECTS(!last->second.taken && last->first <= floats, "memory cut off that is in use");
  sizes_.front() = floats;
  if (last->first == floats) {
    regions_.front().erase(last);
  } else {
    last->second.size = floats - last->first;
  }
}

MemoryParts::Part MemoryParts::take(std::size_t floats, const Ended& ended) {
  const std::size_t wanted = (floats + aligned - 1) / aligned * aligned;
  Part best{.piece = sizes_.size(), .at = 0};
  std::size_t smallest = 0;  // piece that is large enough; 0: none
  for (std::size_t piece = 0; piece < regions_.size(); ++piece) {
    Part begin{.piece = piece, .at = 0};
    std::size_t capacity = 0;
    const auto consider = [&] {
      if (capacity >= wanted && (smallest == 0 || capacity < smallest)) {
        best = begin;
        smallest = capacity;
      }
      capacity = 0;
    };
    for (const auto& [at, region] : regions_[piece]) {
      const auto& users = region.users;
      if (region.taken || !std::all_of(users.begin(), users.end(), ended)) {
        consider();
        continue;
      }
      if (capacity == 0) begin.at = at;
      capacity += region.size;
    }
    consider();
  }
  if (smallest == 0) {
    sizes_.push_back(wanted);
    regions_.emplace_back()[0] = {.size = wanted, .taken = true, .users = {}};
    return best;
  }
  occupy(best, wanted);
  return best;
}

/// The regions from there on become one, and what is left of the last.
void MemoryParts::occupy(const Part& part, std::size_t floats) {
  auto& regions = regions_[part.piece];
  const std::size_t wanted_end = part.at + floats;
  std::size_t end = part.at;
  Region rest;
  for (auto region = regions.find(part.at); end < wanted_end; region = regions.erase(region)) {
    end += region->second.size;
    rest.users = std::move(region->second.users);
  }
  regions[part.at] = {.size = floats, .taken = true, .users = {}};
  rest.size = end - wanted_end;
  if (rest.size > 0) regions[wanted_end] = std::move(rest);
  sizes_[part.piece] = std::max(sizes_[part.piece], wanted_end);
}

void MemoryParts::give_back(const Part& part, std::vector<TaskId> users) {
  Region& region = regions_[part.piece].at(part.at);
  region.taken = false;
  region.users = std::move(users);
}

LaunchedMemory::LaunchedMemory(const TaskGraph& graph, const StepTensorMap& map, Device device)
    : map_(&map),
      device_(std::move(device)),
      order_(graph),
      used_by_(graph.task_count()),
      users_(map.elements().size(), 0U),
      writer_(map.elements().size()),
      address_(map.elements().size(), nullptr) {
  const TensorTable& tensors = graph.tensors();
  IdVector<TensorId, std::size_t> writers(users_.size(), 0);
  for (const TensorId id : tensors.ids()) {
    const TensorId in = map.lies_in()[id];
    if (map.elements()[in] == 0) continue;
    for (const TaskId task : tensors.writers(id)) {
      ++writers[in];
      writer_[in] = task;
      used_by_[task.value()].push_back(in);
    }
    for (const TaskId task : tensors.readers(id)) used_by_[task.value()].push_back(in);
  }
  for (auto& used : used_by_) {
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const TensorId tensor : used) ++users_[tensor];
  }
  for (const TensorId id : tensors.ids()) {
    if (writers[id] != 1) writer_[id] = TaskId::none();
  }
  begin(MemoryParts{});
}

void LaunchedMemory::begin(MemoryParts parts) {
  order_.reset();
  parts_ = std::move(parts);
  part_ = IdVector<TensorId, std::optional<MemoryParts::Part>>(users_.size());
  launched_ = IdVector<TensorId, std::vector<TaskId>>(users_.size());
  left_ = users_;
}

/// The parts of what the task uses; its kernels are not launched yet.
void LaunchedMemory::place(const Launch& launch) {
  order_.launch(launch.task, launch.stream);
  for (const TensorId tensor : used_by_[launch.task.value()]) {
    if (!part_[tensor]) {
      // A task that its one writer, which is before all others, does not come before might run
      // earlier than the tasks that used the memory before.
      const bool first = writer_[tensor] == launch.task;
      part_[tensor] = parts_.take(map_->elements()[tensor], [&](TaskId user) {
        return first && order_.ends_before(user, launch.task);
      });
    }
    launched_[tensor].push_back(launch.task);
  }
}

void LaunchedMemory::finish(TaskId task) {
  for (const TensorId tensor : used_by_[task.value()]) {
    // Before a run a task may be launched by itself.
    if (left_[tensor] == 0 || --left_[tensor] > 0) continue;
    parts_.give_back(*part_[tensor], std::move(launched_[tensor]));
    launched_[tensor].clear();
  }
}

void LaunchedMemory::enter(TaskId task, std::optional<std::uint32_t> stream) {
  const Launch launch{task, stream};
  if (repeated_) {
    if (*repeated_ < launches_.size() && launches_[*repeated_] == launch) {
      ++*repeated_;
      return;
    }
    repeat_no_more();
  }
  launches_.push_back(launch);
  place(launch);
  while (pieces_.size() < parts_.pieces().size()) {
    sizes_.push_back(parts_.pieces()[pieces_.size()]);
    pieces_.push_back(device_.allocate(sizes_.back()));
  }
  for (const TensorId tensor : used_by_[task.value()]) {
    address_[tensor] = pieces_[part_[tensor]->piece] + part_[tensor]->at;
  }
}

void LaunchedMemory::leave(TaskId task) {
  if (!repeated_) finish(task);
}

/// What was repeated is placed as it was before, and the run goes on by itself.
void LaunchedMemory::repeat_no_more() {
  launches_.resize(*repeated_);
  repeated_.reset();
  begin(MemoryParts::endless());
  for (const Launch& launch : launches_) {
    place(launch);
    finish(launch.task);
  }
  parts_.end_at(sizes_.front());
}

/// In one piece, whose size comes out.
void LaunchedMemory::lay_out_anew() {
  begin(MemoryParts::endless());
  for (const Launch& launch : launches_) {
    place(launch);
    finish(launch.task);
  }
  device_.drop();
  sizes_ = {parts_.pieces().front()};
  pieces_ = {device_.allocate(sizes_.front())};
  for (const TensorId tensor : address_.ids()) {
    if (part_[tensor]) address_[tensor] = pieces_.front() + part_[tensor]->at;
  }
}

void LaunchedMemory::reset() {
  if (!repeated_ && !launches_.empty()) lay_out_anew();
  if (!launches_.empty()) repeated_ = 0;
}

Bytes LaunchedMemory::held() const {
  std::size_t floats = 0;
  for (const std::size_t size : sizes_) floats += size;
  return Bytes{static_cast<std::int64_t>(floats * sizeof(float))};
}

}  // namespace schedlab::detail
