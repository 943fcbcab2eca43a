// SPDX-License-Identifier: Apache-2.0
// In place of the OpenCL loader: one device, whose commands do nothing and end at once, and that
// fails where it is told to.
#define CL_TARGET_OPENCL_VERSION 200
#include "tests/real_exec/opencl/fake_driver.hpp"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <clblast.h>
#include <clblast_c.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

// Handles are pointers to these.
struct _cl_platform_id {};
struct _cl_device_id {
  std::size_t group = 0;
};
struct _cl_context {};
struct _cl_command_queue {};
struct _cl_program {};
struct _cl_kernel {};
struct _cl_mem {};
struct _cl_command_buffer_khr {
  cl_sync_point_khr points = 0;
};
struct _cl_event {
  int references = 1;
  cl_int status = CL_COMPLETE;
  cl_ulong started = 0;
  cl_ulong ended = 0;
};

namespace {

FakeDriver driver;
_cl_platform_id the_platform;
_cl_device_id the_device;

cl_ulong now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<cl_ulong>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// CL_SUCCESS, or the error that was asked for.
cl_int outcome(std::string_view call) {
  if (call != driver.failing_call) return CL_SUCCESS;
  if (driver.calls_before-- > 0) return CL_SUCCESS;
  return driver.failing_status;
}

template <class Object>
Object* made(std::string_view call, cl_int* status) {
  *status = outcome(call);
  if (*status != CL_SUCCESS) return nullptr;
  ++driver.live_objects;
  return new Object;
}

template <class Object>
cl_int given_back(Object* object) {
  delete object;
  --driver.live_objects;
  return CL_SUCCESS;
}

cl_int command(std::string_view call, cl_event* event, bool kernel = false) {
  const cl_int status = outcome(call);
  if (status != CL_SUCCESS || event == nullptr) return status;
  ++driver.live_objects;
  *event = new _cl_event;
  (*event)->started = now() + (kernel ? driver.kernel_offset_ns : 0);
  (*event)->ended = (*event)->started + 100;
  if (kernel) (*event)->status = driver.kernel_status;
  return CL_SUCCESS;
}

cl_int text(std::string_view value, std::size_t size, void* to, std::size_t* needed) {
  const std::string whole{value};
  if (needed != nullptr) *needed = whole.size() + 1;
  if (to != nullptr && size > whole.size()) std::memcpy(to, whole.c_str(), whole.size() + 1);
  return CL_SUCCESS;
}

template <class Value>
cl_int number(Value value, void* to) {
  std::memcpy(to, &value, sizeof(value));
  return CL_SUCCESS;
}

}  // namespace

extern "C" {

FakeDriver* schedlab_fake_driver() {
  return &driver;
}

cl_int clGetPlatformIDs(cl_uint capacity, cl_platform_id* to, cl_uint* count) {
  if (count != nullptr) *count = 1;
  if (to != nullptr && capacity > 0) *to = &the_platform;
  return outcome("clGetPlatformIDs");
}

cl_int clGetPlatformInfo(
    cl_platform_id, cl_platform_info, std::size_t size, void* to, std::size_t* needed) {
  return text("fake", size, to, needed);
}

cl_int clGetDeviceIDs(
    cl_platform_id, cl_device_type, cl_uint capacity, cl_device_id* to, cl_uint* count) {
  if (count != nullptr) *count = 1;
  if (to != nullptr && capacity > 0) *to = &the_device;
  return outcome("clGetDeviceIDs");
}

cl_int clGetDeviceInfo(
    cl_device_id, cl_device_info what, std::size_t size, void* to, std::size_t* needed) {
  switch (what) {
    case CL_DEVICE_NAME:
      return text("fake device", size, to, needed);
    case CL_DEVICE_EXTENSIONS:
      return text(driver.extensions, size, to, needed);
    case CL_DRIVER_VERSION:
      return text("1.0", size, to, needed);
    case CL_DEVICE_TYPE:
      return number<cl_device_type>(CL_DEVICE_TYPE_GPU, to);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return number<cl_uint>(4, to);
    case CL_DEVICE_AVAILABLE:
      return number<cl_bool>(driver.available ? CL_TRUE : CL_FALSE, to);
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
      return number<cl_uint>(driver.max_groups, to);
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
      return number<cl_command_queue_properties>(driver.queues_out_of_order, to);
    case CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR:
      return number<cl_device_command_buffer_capabilities_khr>(driver.command_buffers, to);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return number<std::size_t>(64, to);
    default:
      return number<cl_ulong>(1U << 30U, to);
  }
}

cl_int clCreateSubDevices(cl_device_id,
                          const cl_device_partition_property*,
                          cl_uint capacity,
                          cl_device_id* to,
                          cl_uint*) {
  const cl_int status = outcome("clCreateSubDevices");
  if (status != CL_SUCCESS) return status;
  for (cl_uint i = 0; i < capacity; ++i) to[i] = new _cl_device_id{i};
  driver.live_objects += static_cast<int>(capacity);
  driver.queues_of_group.assign(capacity, 0);
  return CL_SUCCESS;
}
cl_int clReleaseDevice(cl_device_id device) {
  return given_back(device);
}

cl_context clCreateContext(const cl_context_properties*,
                           cl_uint,
                           const cl_device_id*,
                           void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*),
                           void*,
                           cl_int* status) {
  return made<_cl_context>("clCreateContext", status);
}
cl_int clReleaseContext(cl_context context) {
  return given_back(context);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context,
                                                    cl_device_id device,
                                                    const cl_queue_properties* properties,
                                                    cl_int* status) {
  constexpr cl_queue_properties priority = 0x1096;  // CL_QUEUE_PRIORITY_KHR
  constexpr cl_queue_properties throttle = 0x1097;  // CL_QUEUE_THROTTLE_KHR
  if (device->group < driver.queues_of_group.size()) ++driver.queues_of_group[device->group];
  for (; *properties != 0; properties += 2) {
    if (properties[0] == priority) driver.priorities_seen |= properties[1];
    if (properties[0] == throttle) driver.throttles_seen |= properties[1];
  }
  return made<_cl_command_queue>("clCreateCommandQueueWithProperties", status);
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  return given_back(queue);
}

cl_program clCreateProgramWithSource(
    cl_context, cl_uint, const char**, const std::size_t*, cl_int* status) {
  return made<_cl_program>("clCreateProgramWithSource", status);
}
cl_int clBuildProgram(cl_program,
                      cl_uint,
                      const cl_device_id*,
                      const char*,
                      void(CL_CALLBACK*)(cl_program, void*),
                      void*) {
  return outcome("clBuildProgram");
}
cl_int clGetProgramBuildInfo(cl_program,
                             cl_device_id,
                             cl_program_build_info,
                             std::size_t size,
                             void* to,
                             std::size_t* needed) {
  return text("line 7: no such thing", size, to, needed);
}
cl_int clReleaseProgram(cl_program program) {
  return given_back(program);
}

cl_kernel clCreateKernel(cl_program, const char*, cl_int* status) {
  return made<_cl_kernel>("clCreateKernel", status);
}
cl_int clSetKernelArg(cl_kernel, cl_uint, std::size_t, const void*) {
  return outcome("clSetKernelArg");
}
cl_int clReleaseKernel(cl_kernel kernel) {
  return given_back(kernel);
}

cl_mem clCreateBuffer(cl_context, cl_mem_flags, std::size_t, void*, cl_int* status) {
  return made<_cl_mem>("clCreateBuffer", status);
}
cl_int clReleaseMemObject(cl_mem memory) {
  return given_back(memory);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue,
                              cl_kernel,
                              cl_uint,
                              const std::size_t*,
                              const std::size_t*,
                              const std::size_t*,
                              cl_uint,
                              const cl_event*,
                              cl_event* event) {
  return command("clEnqueueNDRangeKernel", event, true);
}
cl_int clEnqueueWriteBuffer(cl_command_queue,
                            cl_mem,
                            cl_bool,
                            std::size_t,
                            std::size_t,
                            const void*,
                            cl_uint,
                            const cl_event*,
                            cl_event* event) {
  return command("clEnqueueWriteBuffer", event);
}
cl_int clEnqueueReadBuffer(cl_command_queue,
                           cl_mem,
                           cl_bool,
                           std::size_t,
                           std::size_t bytes,
                           void* to,
                           cl_uint,
                           const cl_event*,
                           cl_event* event) {
  if (driver.product != 0) {
    std::fill_n(static_cast<float*>(to), bytes / sizeof(float), driver.product);
  }
  return command("clEnqueueReadBuffer", event);
}
cl_int clEnqueueCopyBuffer(cl_command_queue,
                           cl_mem,
                           cl_mem,
                           std::size_t,
                           std::size_t,
                           std::size_t,
                           cl_uint,
                           const cl_event*,
                           cl_event* event) {
  return command("clEnqueueCopyBuffer", event);
}
cl_int clEnqueueFillBuffer(cl_command_queue,
                           cl_mem,
                           const void*,
                           std::size_t,
                           std::size_t,
                           std::size_t,
                           cl_uint,
                           const cl_event*,
                           cl_event* event) {
  return command("clEnqueueFillBuffer", event);
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue, cl_uint, const cl_event*, cl_event* event) {
  return command("clEnqueueMarkerWithWaitList", event);
}
cl_int clEnqueueBarrierWithWaitList(cl_command_queue, cl_uint, const cl_event*, cl_event* event) {
  return command("clEnqueueBarrierWithWaitList", event);
}

cl_command_buffer_khr clCreateCommandBufferKHR(cl_uint,
                                               const cl_command_queue*,
                                               const cl_command_buffer_properties_khr*,
                                               cl_int* status) {
  return made<_cl_command_buffer_khr>("clCreateCommandBufferKHR", status);
}
cl_int clFinalizeCommandBufferKHR(cl_command_buffer_khr) {
  return outcome("clFinalizeCommandBufferKHR");
}
cl_int clReleaseCommandBufferKHR(cl_command_buffer_khr buffer) {
  return given_back(buffer);
}
cl_int clEnqueueCommandBufferKHR(
    cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint, const cl_event*, cl_event* event) {
  ++driver.buffers_launched;
  return command("clEnqueueCommandBufferKHR", event);
}
cl_int clCommandNDRangeKernelKHR(cl_command_buffer_khr buffer,
                                 cl_command_queue,
                                 const cl_ndrange_kernel_command_properties_khr*,
                                 cl_kernel,
                                 cl_uint,
                                 const std::size_t*,
                                 const std::size_t*,
                                 const std::size_t*,
                                 cl_uint awaited,
                                 const cl_sync_point_khr*,
                                 cl_sync_point_khr* point,
                                 cl_mutable_command_khr*) {
  driver.sync_points.push_back(awaited);
  *point = ++buffer->points;
  return outcome("clCommandNDRangeKernelKHR");
}

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  const std::string_view wanted = name;
  if (outcome(wanted) == CL_INVALID_OPERATION) return nullptr;
  if (wanted == "clCreateCommandBufferKHR")
    return reinterpret_cast<void*>(&clCreateCommandBufferKHR);
  if (wanted == "clFinalizeCommandBufferKHR")
    return reinterpret_cast<void*>(&clFinalizeCommandBufferKHR);
  if (wanted == "clReleaseCommandBufferKHR")
    return reinterpret_cast<void*>(&clReleaseCommandBufferKHR);
  if (wanted == "clEnqueueCommandBufferKHR")
    return reinterpret_cast<void*>(&clEnqueueCommandBufferKHR);
  if (wanted == "clCommandNDRangeKernelKHR")
    return reinterpret_cast<void*>(&clCommandNDRangeKernelKHR);
  return nullptr;
}

cl_int clWaitForEvents(cl_uint, const cl_event*) {
  return outcome("clWaitForEvents");
}
cl_int clGetEventInfo(cl_event event, cl_event_info, std::size_t, void* to, std::size_t*) {
  return number<cl_int>(event->status, to);
}
cl_int clGetEventProfilingInfo(
    cl_event event, cl_profiling_info what, std::size_t, void* to, std::size_t*) {
  number<cl_ulong>(what == CL_PROFILING_COMMAND_START ? event->started : event->ended, to);
  return outcome("clGetEventProfilingInfo");
}
cl_int clRetainEvent(cl_event event) {
  ++event->references;
  return CL_SUCCESS;
}
cl_int clReleaseEvent(cl_event event) {
  return --event->references == 0 ? given_back(event) : CL_SUCCESS;
}
cl_int clFlush(cl_command_queue) {
  return outcome("clFlush");
}
cl_int clFinish(cl_command_queue) {
  return outcome("clFinish");
}

CLBlastStatusCode CLBlastSgemm(CLBlastLayout,
                               CLBlastTranspose,
                               CLBlastTranspose,
                               std::size_t,
                               std::size_t,
                               std::size_t,
                               float,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               float,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               cl_command_queue*,
                               cl_event* event) {
  const std::size_t tile = driver.parameters["XgemmDirect"]["WGD"];
  if (tile != driver.fast_tile) std::this_thread::sleep_for(std::chrono::microseconds{300});
  driver.product = tile == driver.wrong_tile ? 2.0F : 1.0F;
  return static_cast<CLBlastStatusCode>(command("CLBlastSgemm", event, true));
}
CLBlastStatusCode CLBlastDgemm(CLBlastLayout,
                               CLBlastTranspose,
                               CLBlastTranspose,
                               std::size_t,
                               std::size_t,
                               std::size_t,
                               double,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               double,
                               cl_mem,
                               std::size_t,
                               std::size_t,
                               cl_command_queue*,
                               cl_event* event) {
  return static_cast<CLBlastStatusCode>(command("CLBlastDgemm", event, true));
}
CLBlastStatusCode CLBlastOverrideParameters(cl_device_id,
                                            const char* kernel,
                                            CLBlastPrecision,
                                            std::size_t count,
                                            const char** names,
                                            const std::size_t* values) {
  for (std::size_t i = 0; i < count; ++i) driver.parameters[kernel][names[i]] = values[i];
  return static_cast<CLBlastStatusCode>(outcome("CLBlastOverrideParameters"));
}

}  // extern "C"

clblast::StatusCode clblast::RetrieveParameters(
    cl_device_id,
    const std::string& kernel,
    clblast::Precision,
    std::unordered_map<std::string, std::size_t>& parameters) {
  for (const auto& [name, value] : driver.parameters[kernel]) parameters[name] = value;
  return clblast::StatusCode::kSuccess;
}
