// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/step_tensors.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace schedlab::detail {

/// What is certain of the order in which launched tasks run, whatever their times: a task begins
/// when those that it needs have ended, and in a stream one after another. (Vector clocks.)
class LaunchOrder {
 public:
  /// `graph` must outlive this.
  explicit LaunchOrder(const TaskGraph& graph);

  void reset();
  /// Tasks with the same number of a stream run in the order of these calls; nullopt: only what it
  /// needs orders the task, as in a device graph.
  void launch(TaskId task, std::optional<std::uint32_t> stream);
  /// Both were launched: has `earlier` ended when `later` begins?
  [[nodiscard]] bool ends_before(TaskId earlier, TaskId later) const;

 private:
  struct Launched {
    std::size_t lane = 0;
    std::uint32_t number = 0;           // in its lane, from 1; 0: not launched
    std::vector<std::uint32_t> before;  // by lane: so many have ended when it ends, itself too
  };
  [[nodiscard]] std::size_t lane_of(const Launched& task, std::optional<std::uint32_t> stream);

  const TaskGraph* graph_;
  IdVector<TaskId, Launched> tasks_;
  std::vector<TaskId> last_;                   // by lane
  std::vector<bool> free_lane_;                // of no stream
  std::map<std::uint32_t, std::size_t> lane_;  // by stream
};

/// Places tensors side by side in pieces of memory. A tensor gets memory that others had only if
/// all tasks that used those have ended for certain when it begins.
class MemoryParts {
 public:
  struct Part {
    std::size_t piece = 0;
    std::size_t at = 0;  ///< floats from its beginning
  };
  /// Has this task ended by then?
  using Ended = std::function<bool(TaskId)>;

  /// No memory: takes a new piece whenever no free one fits.
  MemoryParts() = default;
  /// One piece without end.
  [[nodiscard]] static MemoryParts endless();
  /// Cuts the piece without end here; everything that is taken must lie before it.
  void end_at(std::size_t floats);

  /// The smallest free piece of this size.
  [[nodiscard]] Part take(std::size_t floats, const Ended& ended);
  /// `users`: of what lay there.
  void give_back(const Part& part, std::vector<TaskId> users);
  /// Floats of each piece; of one without end, up to the last that was ever taken.
  [[nodiscard]] const std::vector<std::size_t>& pieces() const { return sizes_; }

 private:
  struct Region {
    std::size_t size = 0;
    bool taken = false;
    std::vector<TaskId> users;  // of what lay there last
  };
  void occupy(const Part& part, std::size_t floats);

  std::vector<std::size_t> sizes_;
  std::vector<std::map<std::size_t, Region>> regions_;  // of each piece, by where they begin
};

/// Memory of tensors whose tasks are launched long before they run, as a device's are: addresses
/// are given when a task is launched, so that nothing waits for memory and none is shared too
/// early, whatever the order in which the device runs what no plan orders. Less order takes more
/// memory.
///
/// The first run takes piece after piece. Then all is laid out anew in one, and runs that launch
/// the same tasks into the same streams get addresses without any search.
class LaunchedMemory {
 public:
  struct Device {
    std::function<float*(std::size_t)> allocate;  ///< so many floats
    std::function<void()> drop;                   ///< everything; no task is running
  };

  /// References must outlive this.
  LaunchedMemory(const TaskGraph& graph, const StepTensorMap& map, Device device);

  /// Before and after the kernels of a task are launched; tasks that it needs were launched before.
  void enter(TaskId task, std::optional<std::uint32_t> stream);
  void leave(TaskId task);
  /// Address of a tensor that lies in itself, between enter() and leave() of a task that uses it or
  /// one that lies in it.
  [[nodiscard]] float* at(TensorId tensor) const { return address_[tensor]; }

  /// Before each run, with the device idle: no tensor has memory.
  void reset();
  /// What is allocated.
  [[nodiscard]] Bytes held() const;

 private:
  struct Launch {
    TaskId task;
    std::optional<std::uint32_t> stream;
    friend bool operator==(const Launch&, const Launch&) = default;
  };
  void begin(MemoryParts parts);
  void place(const Launch& launch);
  void finish(TaskId task);
  void lay_out_anew();
  void repeat_no_more();

  const StepTensorMap* map_;
  Device device_;
  LaunchOrder order_;
  std::vector<std::vector<TensorId>> used_by_;  // by task
  IdVector<TensorId, std::uint32_t> users_;
  IdVector<TensorId, TaskId> writer_;  // none: several, which nothing orders

  MemoryParts parts_;
  std::vector<float*> pieces_;
  std::vector<std::size_t> sizes_;  // of pieces_, in floats
  IdVector<TensorId, float*> address_;
  IdVector<TensorId, std::optional<MemoryParts::Part>> part_;  // none: it has not begun
  IdVector<TensorId, std::vector<TaskId>> launched_;           // users
  IdVector<TensorId, std::uint32_t> left_;                     // users that were not launched

  std::vector<Launch> launches_;         // of the run, or while it is repeated of the one before
  std::optional<std::size_t> repeated_;  // so many launches were as in the run before
};

}  // namespace schedlab::detail
