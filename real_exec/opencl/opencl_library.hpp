// SPDX-License-Identifier: Apache-2.0
#pragma once

// 2.0 is the oldest version whose queues are made as here; newer names are asked for by device.
#define CL_TARGET_OPENCL_VERSION 200
#include "real_exec/opencl/product_tuning.hpp"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <clblast.h>
#include <clblast_c.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// The functions of OpenCL that are used, from the installable-client-driver loader, which is
/// opened when a device is first asked for: a program without it still starts.
struct OpenClLibrary {
  /// `file`: the loader, or what stands in its place. Throws DeviceError if it, or a function in
  /// it, is not found.
  explicit OpenClLibrary(const std::string& file);

  // Named as OpenCL names them, without cl.
  decltype(&clGetPlatformIDs) get_platform_ids = nullptr;
  decltype(&clGetPlatformInfo) get_platform_info = nullptr;
  decltype(&clGetExtensionFunctionAddressForPlatform) get_extension = nullptr;
  decltype(&clGetDeviceIDs) get_device_ids = nullptr;
  decltype(&clGetDeviceInfo) get_device_info = nullptr;
  decltype(&clCreateSubDevices) create_sub_devices = nullptr;
  decltype(&clReleaseDevice) release_device = nullptr;
  decltype(&clCreateContext) create_context = nullptr;
  decltype(&clReleaseContext) release_context = nullptr;
  decltype(&clCreateCommandQueueWithProperties) create_queue = nullptr;
  decltype(&clReleaseCommandQueue) release_queue = nullptr;
  decltype(&clCreateProgramWithSource) create_program = nullptr;
  decltype(&clBuildProgram) build_program = nullptr;
  decltype(&clGetProgramBuildInfo) get_build_info = nullptr;
  decltype(&clReleaseProgram) release_program = nullptr;
  decltype(&clCreateKernel) create_kernel = nullptr;
  decltype(&clSetKernelArg) set_kernel_arg = nullptr;
  decltype(&clReleaseKernel) release_kernel = nullptr;
  decltype(&clCreateBuffer) create_buffer = nullptr;
  decltype(&clReleaseMemObject) release_buffer = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue_kernel = nullptr;
  decltype(&clEnqueueWriteBuffer) enqueue_write = nullptr;
  decltype(&clEnqueueReadBuffer) enqueue_read = nullptr;
  decltype(&clEnqueueCopyBuffer) enqueue_copy = nullptr;
  decltype(&clEnqueueFillBuffer) enqueue_fill = nullptr;
  decltype(&clEnqueueMarkerWithWaitList) enqueue_marker = nullptr;
  decltype(&clEnqueueBarrierWithWaitList) enqueue_barrier = nullptr;
  decltype(&clWaitForEvents) wait_for_events = nullptr;
  decltype(&clGetEventInfo) get_event_info = nullptr;
  decltype(&clGetEventProfilingInfo) get_profiling_info = nullptr;
  decltype(&clRetainEvent) retain_event = nullptr;
  decltype(&clReleaseEvent) release_event = nullptr;
  decltype(&clFlush) flush = nullptr;
  decltype(&clFinish) finish = nullptr;
};

/// The functions of cl_khr_command_buffer that are used: those that are the same in all of its
/// provisional versions.
struct OpenClCommandBuffers {
  /// Throws DeviceError if the platform lacks one.
  OpenClCommandBuffers(const OpenClLibrary& cl, cl_platform_id platform);

  clCreateCommandBufferKHR_fn create = nullptr;
  clFinalizeCommandBufferKHR_fn finalize = nullptr;
  clReleaseCommandBufferKHR_fn release = nullptr;
  clEnqueueCommandBufferKHR_fn enqueue = nullptr;
  clCommandNDRangeKernelKHR_fn kernel = nullptr;
};

/// The functions of CLBlast that are used.
struct ClBlastLibrary {
  /// Throws DeviceError if the library, or a product in it, is not found.
  explicit ClBlastLibrary(const std::string& file);

  decltype(&CLBlastSgemm) sgemm = nullptr;
  decltype(&CLBlastDgemm) dgemm = nullptr;
  // Of its parameters; both nullptr in versions that do not have both.
  decltype(&CLBlastOverrideParameters) override_parameters = nullptr;
  decltype(&clblast::RetrieveParameters) retrieve_parameters = nullptr;

  [[nodiscard]] bool takes_parameters() const { return override_parameters != nullptr; }
};

/// CLBlast's parameters on some devices, which it keeps for the whole process: what it had before
/// comes back in the end.
class ClBlastParameters {
 public:
  /// Throws DeviceError.
  ClBlastParameters(const ClBlastLibrary& library, std::vector<cl_device_id> devices);
  ClBlastParameters(const ClBlastParameters&) = delete;
  ClBlastParameters& operator=(const ClBlastParameters&) = delete;
  ~ClBlastParameters();

  /// From the next product on, which is compiled anew. Throws DeviceError for what is not complete.
  void set(const ProductParameters& products) const;
  [[nodiscard]] const ProductParameters& own() const { return own_; }

 private:
  [[nodiscard]] int change(const std::string& kernel, const KernelParameters& parameters) const;

  ClBlastLibrary library_;
  std::vector<cl_device_id> devices_;
  ProductParameters own_;
};

/// "CL_OUT_OF_RESOURCES (-5)"; of numbers that only CLBlast has, "CLBlast status -1234".
[[nodiscard]] std::string opencl_status_text(int status);

/// Throws DeviceError with call and status unless `status` is success.
void check_opencl(int status, std::string_view call);

/// Owns one handle of OpenCL.
template <class Handle>
class OpenClHandle {
 public:
  using GiveBack = cl_int(CL_API_CALL*)(Handle);

  OpenClHandle() = default;
  OpenClHandle(Handle handle, GiveBack give_back) : handle_(handle), give_back_(give_back) {}
  OpenClHandle(const OpenClHandle&) = delete;
  OpenClHandle& operator=(const OpenClHandle&) = delete;
  OpenClHandle(OpenClHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), give_back_(other.give_back_) {}
  OpenClHandle& operator=(OpenClHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(give_back_, other.give_back_);
    return *this;
  }
  ~OpenClHandle() {
    // Errors of giving back are dropped: a device that was lost has nothing left to give back.
    if (handle_ != nullptr) static_cast<void>(give_back_(handle_));
  }

  [[nodiscard]] Handle get() const { return handle_; }
  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
  GiveBack give_back_ = nullptr;
};

using OpenClEvent = OpenClHandle<cl_event>;
using OpenClQueue = OpenClHandle<cl_command_queue>;
using OpenClBuffer = OpenClHandle<cl_mem>;
using OpenClDeviceHandle = OpenClHandle<cl_device_id>;
using OpenClKernel = OpenClHandle<cl_kernel>;

}  // namespace schedlab::detail
