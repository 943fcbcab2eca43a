// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/opencl/opencl_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Part of a buffer, from an element on: two arguments of a kernel.
struct OpenClPlace {
  cl_mem buffer = nullptr;
  cl_ulong at = 0;
};

/// C[m, n] = A * B, added to C with `add`; a factor may lie transposed.
struct OpenClProduct {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  OpenClPlace a;
  OpenClPlace b;
  OpenClPlace c;
  std::size_t a_stride = 0;
  std::size_t b_stride = 0;
  std::size_t c_stride = 0;
  bool a_lies = false;
  bool b_lies = false;
  bool add = false;
};

/// Events at the first and the last command of a task.
struct OpenClTaskEvents {
  OpenClEvent first;
  OpenClEvent last;
};

/// Kernels of a task on their way into a command buffer.
struct OpenClRecording {
  cl_command_buffer_khr buffer = nullptr;
  std::vector<cl_sync_point_khr> needs;  ///< of the next kernel; after it, it alone
  std::size_t kernels = 0;               ///< so far
};

/// A command queue, with its latest command. What a task launches goes through it.
class OpenClLane {
 public:
  /// `stream`: the number of the plan's stream that it is.
  OpenClLane(std::shared_ptr<OpenClContext> context,
             int priority,
             std::optional<std::uint32_t> stream = {})
      : context_(std::move(context)),
        queue_(context_->make_queue(priority, stream.value_or(0))),
        stream_(stream) {}

  [[nodiscard]] OpenClContext& context() const { return *context_; }
  /// For commands of others. Throws InfeasibleError while kernels are recorded.
  [[nodiscard]] cl_command_queue queue() const;
  /// Kernels go there and not into the queue; nullptr: no longer.
  void record_into(OpenClRecording* recording) { recording_ = recording; }
  [[nodiscard]] std::optional<std::uint32_t> stream() const { return stream_; }

  /// Launches a kernel of our program over groups * group_size work items. Arguments are values,
  /// buffers as cl_mem, and places.
  template <class... Args>
  void launch(const std::string& name,
              std::size_t groups,
              std::size_t group_size,
              const Args&... args) {
    cl_kernel kernel = context_->kernel(name);
    cl_uint index = 0;
    const auto set = [&](const auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, OpenClPlace>) {
        set_argument(kernel, index++, sizeof(value.buffer), &value.buffer);
        set_argument(kernel, index++, sizeof(value.at), &value.at);
      } else {
        set_argument(kernel, index++, sizeof(value), &value);
      }
    };
    (set(args), ...);
    enqueue(kernel, name, groups, group_size);
  }
  /// By CLBlast, in fp32 or fp64. Throws DeviceError, also for what CLBlast does not do here.
  template <class Real>
  void multiply(const OpenClProduct& product);
  // Places are in bytes here. `from` and `to` must stay until the queue is finished.
  void write(const OpenClPlace& to, const void* from, std::size_t bytes);
  void read(void* to, const OpenClPlace& from, std::size_t bytes);
  void copy(const OpenClPlace& to, const OpenClPlace& from, std::size_t bytes);
  void fill(const OpenClPlace& to, unsigned char byte, std::size_t bytes);
  /// Notes a command that was put into the queue; takes the event over.
  void enqueued(cl_event event);
  /// Before commands of a library that hands out the event of its last one alone: times of the task
  /// begin when the queue gets here.
  void expect_only_last_event() {
    if (keeps_first_ && !first_) static_cast<void>(mark());
  }
  /// A marker behind all that is in the queue.
  [[nodiscard]] OpenClEvent mark();
  /// Holds later commands back until the event is complete.
  void wait(const OpenClEvent& event);

  /// Hands what is in the queue to the device, which need not begin before.
  void flush() const;
  /// Has the latest command ended? Throws DeviceError if it failed.
  [[nodiscard]] bool idle() const;
  /// Returns when the queue is empty. Throws DeviceError if a command failed.
  void finish() const;

  /// From here on the first command is kept too, until end_task().
  void begin_task() {
    first_ = {};
    keeps_first_ = true;
  }
  [[nodiscard]] OpenClTaskEvents end_task();

 private:
  void set_argument(cl_kernel kernel, cl_uint index, std::size_t bytes, const void* value) const {
    check_opencl(context_->cl.set_kernel_arg(kernel, index, bytes, value), "clSetKernelArg");
  }
  void enqueue(cl_kernel kernel,
               const std::string& name,
               std::size_t groups,
               std::size_t group_size);
  void record(cl_kernel kernel, const std::string& name, std::size_t items, std::size_t group_size);
  [[nodiscard]] OpenClEvent another(const OpenClEvent& event) const;

  std::shared_ptr<OpenClContext> context_;
  OpenClQueue queue_;
  std::optional<std::uint32_t> stream_;
  OpenClEvent latest_;
  OpenClEvent first_;
  bool keeps_first_ = false;
  OpenClRecording* recording_ = nullptr;
};

/// Throws DeviceError if the command failed; has it ended?
[[nodiscard]] bool opencl_complete(const OpenClLibrary& cl, const OpenClEvent& event);

}  // namespace schedlab::detail
