// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_backend.hpp"
#include "real_exec/opencl/opencl_lane.hpp"
#include "real_exec/opencl/opencl_work.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// The device graphs of one run as command buffers (cl_khr_command_buffer): kernels with sync
/// points for the plan's edges and no others, in a queue that keeps no order.
class OpenClGraphs {
 public:
  /// Throws InfeasibleError if the device has no such command buffers, or is split.
  explicit OpenClGraphs(const std::shared_ptr<OpenClContext>& context);
  OpenClGraphs(const OpenClGraphs&) = delete;
  OpenClGraphs& operator=(const OpenClGraphs&) = delete;
  /// Returns when none is running.
  ~OpenClGraphs();

  /// Throws InfeasibleError for a task that launches more than kernels of our own.
  std::vector<LoadedNode> load(const GraphRow& row,
                               const TaskGraph& tasks,
                               OpenClWork& work,
                               LaunchObserver* observer);
  /// Behind the graph's launch before, in whatever stream.
  void launch(OpenClLane& lane, std::uint32_t graph, std::uint32_t row);

 private:
  struct Row {
    OpenClHandle<cl_command_buffer_khr> buffer;
    bool empty = true;
  };

  std::shared_ptr<OpenClContext> context_;
  OpenClQueue queue_;
  OpenClLane recorder_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Row> rows_;
  std::map<std::uint32_t, OpenClEvent> done_;  // by graph: its last launch
};

}  // namespace schedlab::detail
