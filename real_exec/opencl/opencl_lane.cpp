// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_lane.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <type_traits>

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

template <class Real>
void OpenClLane::multiply(const OpenClProduct& product) {
  constexpr bool single = std::is_same_v<Real, float>;
  const auto way = [](bool lies) { return lies ? CLBlastTransposeYes : CLBlastTransposeNo; };
  cl_command_queue to = queue();
  const ClBlastLibrary& blas = context_->products();
  const auto gemm = [&](auto function) {
    cl_event event = nullptr;
    expect_only_last_event();
    check_opencl(function(CLBlastLayoutRowMajor,
                          way(product.a_lies),
                          way(product.b_lies),
                          product.m,
                          product.n,
                          product.k,
                          Real{1},
                          product.a.buffer,
                          product.a.at,
                          product.a_stride,
                          product.b.buffer,
                          product.b.at,
                          product.b_stride,
                          product.add ? Real{1} : Real{0},
                          product.c.buffer,
                          product.c.at,
                          product.c_stride,
                          &to,
                          &event),
                 single ? "CLBlastSgemm" : "CLBlastDgemm");
    enqueued(event);
  };
  if constexpr (single) {
    gemm(blas.sgemm);
  } else {
    gemm(blas.dgemm);
  }
}
template void OpenClLane::multiply<float>(const OpenClProduct& product);
template void OpenClLane::multiply<double>(const OpenClProduct& product);

void OpenClLane::write(const OpenClPlace& to, const void* from, std::size_t bytes) {
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_write(
                   queue(), to.buffer, CL_FALSE, to.at, bytes, from, 0, nullptr, &event),
               "clEnqueueWriteBuffer");
  enqueued(event);
}

void OpenClLane::read(void* to, const OpenClPlace& from, std::size_t bytes) {
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_read(
                   queue(), from.buffer, CL_FALSE, from.at, bytes, to, 0, nullptr, &event),
               "clEnqueueReadBuffer");
  enqueued(event);
}

void OpenClLane::copy(const OpenClPlace& to, const OpenClPlace& from, std::size_t bytes) {
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_copy(
                   queue(), from.buffer, to.buffer, from.at, to.at, bytes, 0, nullptr, &event),
               "clEnqueueCopyBuffer");
  enqueued(event);
}

void OpenClLane::fill(const OpenClPlace& to, unsigned char byte, std::size_t bytes) {
  cl_event event = nullptr;
  check_opencl(context_->cl.enqueue_fill(
                   queue(), to.buffer, &byte, sizeof(byte), to.at, bytes, 0, nullptr, &event),
               "clEnqueueFillBuffer");
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
