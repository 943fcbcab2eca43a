// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_lane.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab::detail {

bool opencl_complete(const OpenClLibrary& cl, const OpenClEvent& event) {
  cl_int status = CL_COMPLETE;
  check_opencl(
      cl.get_event_info(
          event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr),
      "clGetEventInfo");
  // A status below 0 is the error that ended the command.
  if (status < 0) {
    throw DeviceError(fmt::format("a command failed: {}", opencl_status_text(status)));
  }
  return status == CL_COMPLETE;
}

OpenClEvent OpenClLane::another(const OpenClEvent& event) const {
  check_opencl(context_->cl.retain_event(event.get()), "clRetainEvent");
  return context_->own(event.get());
}

void OpenClLane::enqueued(cl_event event) {
  latest_ = context_->own(event);
  if (keeps_first_ && !first_) first_ = another(latest_);
}

cl_command_queue OpenClLane::queue() const {
  if (recording_ != nullptr) {
    throw InfeasibleError(
        "products by CLBlast and copies cannot be recorded into a command buffer; launch eagerly: "
        "\"launch\": \"eager\"");
  }
  return queue_.get();
}

void OpenClLane::record(cl_kernel kernel,
                        const std::string& name,
                        std::size_t items,
                        std::size_t group_size) {
  const auto& needs = recording_->needs;
  cl_sync_point_khr point = 0;
  check_opencl(context_->command_buffers->kernel(recording_->buffer,
                                                 nullptr,
                                                 nullptr,
                                                 kernel,
                                                 1,
                                                 nullptr,
                                                 &items,
                                                 &group_size,
                                                 static_cast<cl_uint>(needs.size()),
                                                 needs.empty() ? nullptr : needs.data(),
                                                 &point,
                                                 nullptr),
               fmt::format("clCommandNDRangeKernelKHR({})", name));
  recording_->needs = {point};
  ++recording_->kernels;
}

void OpenClLane::enqueue(cl_kernel kernel,
                         const std::string& name,
                         std::size_t groups,
                         std::size_t group_size) {
  const std::size_t items = groups * group_size;
  if (recording_ != nullptr) return record(kernel, name, items, group_size);
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_kernel(
                   queue_.get(), kernel, 1, nullptr, &items, &group_size, 0, nullptr, &event),
               fmt::format("clEnqueueNDRangeKernel({})", name));
  enqueued(event);
}

OpenClEvent OpenClLane::mark() {
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_marker(queue(), 0, nullptr, &event),
               "clEnqueueMarkerWithWaitList");
  enqueued(event);
  flush();
  return another(latest_);
}

void OpenClLane::wait(const OpenClEvent& event) {
  cl_event awaited = event.get();
  cl_event barrier = nullptr;
  check_opencl(context_->cl.enqueue_barrier(queue(), 1, &awaited, &barrier),
               "clEnqueueBarrierWithWaitList");
  enqueued(barrier);
  flush();
}

void OpenClLane::flush() const {
  check_opencl(context_->cl.flush(queue()), "clFlush");
}

bool OpenClLane::idle() const {
  return !latest_ || opencl_complete(context_->cl, latest_);
}

void OpenClLane::finish() const {
  check_opencl(context_->cl.finish(queue()), "clFinish");
  static_cast<void>(idle());
}

OpenClTaskEvents OpenClLane::end_task() {
  keeps_first_ = false;
  if (!first_) return {};
  return {.first = std::move(first_), .last = another(latest_)};
}

}  // namespace schedlab::detail
