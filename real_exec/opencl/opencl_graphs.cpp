// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_graphs.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {
namespace {

std::shared_ptr<OpenClContext> with_command_buffers(const std::shared_ptr<OpenClContext>& context) {
  if (!context->command_buffers) {
    throw InfeasibleError(fmt::format(
        "plans with device graphs do not run on {}: {}; launch eagerly: \"launch\": \"eager\"",
        context->facts.name,
        context->facts.device_graphs
            ? "it is split"
            : "it has no command buffers of kernels out of order (cl_khr_command_buffer)"));
  }
  return context;
}

/// Sends what the lane launches into a command buffer, also until a launch throws.
class Recorded {
 public:
  Recorded(OpenClLane& lane, OpenClRecording& into) : lane_(lane) { lane_.record_into(&into); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() { lane_.record_into(nullptr); }

 private:
  OpenClLane& lane_;
};

template <class Value>
void sort_and_unite(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

OpenClGraphs::OpenClGraphs(const std::shared_ptr<OpenClContext>& context)
    : context_(with_command_buffers(context)),
      queue_(context->make_queue_without_order()),
      recorder_(context, context->properties.least_priority) {}

OpenClGraphs::~OpenClGraphs() {
  static_cast<void>(context_->cl.finish(queue_.get()));
}

std::vector<LoadedNode> OpenClGraphs::load(const GraphRow& row,
                                           const TaskGraph& tasks,
                                           OpenClWork& work,
                                           LaunchObserver* observer) {
  const OpenClCommandBuffers& calls = *context_->command_buffers;
  cl_command_queue queue = queue_.get();
  cl_int status = CL_SUCCESS;
  OpenClRecording recording;
  recording.buffer = calls.create(1, &queue, nullptr, &status);
  check_opencl(status, "clCreateCommandBufferKHR");
  Row made{.buffer = {recording.buffer, calls.release}};
  std::vector<std::vector<cl_sync_point_khr>> ends;  // by node
  std::map<cl_sync_point_khr, std::uint32_t> owners;
  std::vector<LoadedNode> loaded;
  for (std::uint32_t node = 0; node < row.shape.node_count(); ++node) {
    const TaskId task = row.shape.task(row.row, node);
    recording.needs.clear();
    recording.kernels = 0;
    LoadedNode& one = loaded.emplace_back();
    for (const std::uint32_t need : row.shape.needs(node)) {
      recording.needs.insert(recording.needs.end(), ends[need].begin(), ends[need].end());
    }
    sort_and_unite(recording.needs);
    for (const cl_sync_point_khr point : recording.needs) one.needs.push_back(owners.at(point));
    sort_and_unite(one.needs);
    if (observer != nullptr) observer->before_node(task, row.graph, node);
    try {
      const Recorded recorded(recorder_, recording);
      work.launch(task, recorder_);
    } catch (const InfeasibleError& error) {
      throw InfeasibleError(fmt::format("task {}: {}", tasks.name(task), error.what()));
    }
    if (observer != nullptr) observer->after_node(task, row.graph, node);
    one.parts = recording.kernels;
    for (const cl_sync_point_khr point : recording.needs) owners.emplace(point, node);
    made.empty = made.empty && recording.kernels == 0;
    ends.push_back(recording.needs);
  }
  check_opencl(calls.finalize(recording.buffer), "clFinalizeCommandBufferKHR");
  rows_[{row.graph, row.row}] = std::move(made);
  return loaded;
}

void OpenClGraphs::launch(OpenClLane& lane, std::uint32_t graph, std::uint32_t row) {
  const Row& made = rows_.at({graph, row});
  if (made.empty) return;
  const OpenClEvent here = lane.mark();
  std::vector<cl_event> awaited{here.get()};
  OpenClEvent& before = done_[graph];
  if (before) awaited.push_back(before.get());
  cl_event event = nullptr;
  check_opencl(context_->command_buffers->enqueue(0,
                                                  nullptr,
                                                  made.buffer.get(),
                                                  static_cast<cl_uint>(awaited.size()),
                                                  awaited.data(),
                                                  &event),
               "clEnqueueCommandBufferKHR");
  before = context_->own(event);
  check_opencl(context_->cl.flush(queue_.get()), "clFlush");
  lane.wait(before);
}

}  // namespace schedlab::detail
