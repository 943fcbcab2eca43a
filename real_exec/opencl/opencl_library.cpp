// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_library.hpp"

#include "real_exec/executor/loaded_library.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <type_traits>
#include <unordered_map>

namespace schedlab::detail {
namespace {

struct StatusName {
  int status;
  const char* name;
};

#define SCHEDLAB_STATUS(name) \
  StatusName {                \
    name, #name               \
  }
constexpr std::array status_names{SCHEDLAB_STATUS(CL_DEVICE_NOT_FOUND),
                                  SCHEDLAB_STATUS(CL_DEVICE_NOT_AVAILABLE),
                                  SCHEDLAB_STATUS(CL_COMPILER_NOT_AVAILABLE),
                                  SCHEDLAB_STATUS(CL_MEM_OBJECT_ALLOCATION_FAILURE),
                                  SCHEDLAB_STATUS(CL_OUT_OF_RESOURCES),
                                  SCHEDLAB_STATUS(CL_OUT_OF_HOST_MEMORY),
                                  SCHEDLAB_STATUS(CL_PROFILING_INFO_NOT_AVAILABLE),
                                  SCHEDLAB_STATUS(CL_BUILD_PROGRAM_FAILURE),
                                  SCHEDLAB_STATUS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
                                  SCHEDLAB_STATUS(CL_DEVICE_PARTITION_FAILED),
                                  SCHEDLAB_STATUS(CL_INVALID_VALUE),
                                  SCHEDLAB_STATUS(CL_INVALID_DEVICE),
                                  SCHEDLAB_STATUS(CL_INVALID_CONTEXT),
                                  SCHEDLAB_STATUS(CL_INVALID_QUEUE_PROPERTIES),
                                  SCHEDLAB_STATUS(CL_INVALID_COMMAND_QUEUE),
                                  SCHEDLAB_STATUS(CL_INVALID_MEM_OBJECT),
                                  SCHEDLAB_STATUS(CL_INVALID_KERNEL_NAME),
                                  SCHEDLAB_STATUS(CL_INVALID_KERNEL_ARGS),
                                  SCHEDLAB_STATUS(CL_INVALID_WORK_GROUP_SIZE),
                                  SCHEDLAB_STATUS(CL_INVALID_EVENT),
                                  SCHEDLAB_STATUS(CL_INVALID_OPERATION),
                                  SCHEDLAB_STATUS(CL_INVALID_BUFFER_SIZE),
                                  SCHEDLAB_STATUS(CL_INVALID_DEVICE_PARTITION_COUNT),
                                  SCHEDLAB_STATUS(CL_PLATFORM_NOT_FOUND_KHR)};
#undef SCHEDLAB_STATUS

}  // namespace

OpenClLibrary::OpenClLibrary(const std::string& file) {
  const LoadedLibrary library("OpenCL", {file});
  library.find(get_platform_ids, "clGetPlatformIDs");
  library.find(get_platform_info, "clGetPlatformInfo");
  library.find(get_extension, "clGetExtensionFunctionAddressForPlatform");
  library.find(get_device_ids, "clGetDeviceIDs");
  library.find(get_device_info, "clGetDeviceInfo");
  library.find(create_sub_devices, "clCreateSubDevices");
  library.find(release_device, "clReleaseDevice");
  library.find(create_context, "clCreateContext");
  library.find(release_context, "clReleaseContext");
  library.find(create_queue, "clCreateCommandQueueWithProperties");
  library.find(release_queue, "clReleaseCommandQueue");
  library.find(create_program, "clCreateProgramWithSource");
  library.find(build_program, "clBuildProgram");
  library.find(get_build_info, "clGetProgramBuildInfo");
  library.find(release_program, "clReleaseProgram");
  library.find(create_kernel, "clCreateKernel");
  library.find(set_kernel_arg, "clSetKernelArg");
  library.find(release_kernel, "clReleaseKernel");
  library.find(create_buffer, "clCreateBuffer");
  library.find(release_buffer, "clReleaseMemObject");
  library.find(enqueue_kernel, "clEnqueueNDRangeKernel");
  library.find(enqueue_write, "clEnqueueWriteBuffer");
  library.find(enqueue_read, "clEnqueueReadBuffer");
  library.find(enqueue_copy, "clEnqueueCopyBuffer");
  library.find(enqueue_fill, "clEnqueueFillBuffer");
  library.find(enqueue_marker, "clEnqueueMarkerWithWaitList");
  library.find(enqueue_barrier, "clEnqueueBarrierWithWaitList");
  library.find(wait_for_events, "clWaitForEvents");
  library.find(get_event_info, "clGetEventInfo");
  library.find(get_profiling_info, "clGetEventProfilingInfo");
  library.find(retain_event, "clRetainEvent");
  library.find(release_event, "clReleaseEvent");
  library.find(flush, "clFlush");
  library.find(finish, "clFinish");
}

OpenClCommandBuffers::OpenClCommandBuffers(const OpenClLibrary& cl, cl_platform_id platform) {
  const auto find = [&](auto& function, const char* name) {
    // OpenCL's own way from an address to a function.
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(cl.get_extension(platform, name));  // NOLINT(*-cast)
    if (function == nullptr) {
      throw DeviceError(fmt::format("the driver names cl_khr_command_buffer and has no {}", name));
    }
  };
  find(create, "clCreateCommandBufferKHR");
  find(finalize, "clFinalizeCommandBufferKHR");
  find(release, "clReleaseCommandBufferKHR");
  find(enqueue, "clEnqueueCommandBufferKHR");
  find(kernel, "clCommandNDRangeKernelKHR");
}

ClBlastLibrary::ClBlastLibrary(const std::string& file) {
  const LoadedLibrary library("CLBlast", {file});
  library.find(sgemm, "CLBlastSgemm");
  library.find(dgemm, "CLBlastDgemm");
  // Its C interface changes parameters and does not tell them.
  library.find_if_there(
      retrieve_parameters,
      "_ZN7clblast18RetrieveParametersEP13_cl_device_idRKNSt7__cxx1112basic_stringIcSt11char_"
      "traitsIcESaIcEEENS_9PrecisionERSt13unordered_mapIS7_mSt4hashIS7_ESt8equal_toIS7_ESaISt4"
      "pairIS8_mEEE");
  if (retrieve_parameters != nullptr) {
    library.find_if_there(override_parameters, "CLBlastOverrideParameters");
  }
}

ClBlastParameters::ClBlastParameters(const ClBlastLibrary& library,
                                     std::vector<cl_device_id> devices)
    : library_(library), devices_(std::move(devices)) {
  for (const char* kernel : {"Xgemm", "XgemmDirect", "GemmRoutine"}) {
    std::unordered_map<std::string, std::size_t> found;
    const auto status =
        library_.retrieve_parameters(devices_.front(), kernel, clblast::Precision::kSingle, found);
    check_opencl(static_cast<int>(status), "clblast::RetrieveParameters");
    for (const auto& [name, value] : found) {
      own_[kernel][name] = static_cast<std::uint32_t>(value);
    }
  }
}

ClBlastParameters::~ClBlastParameters() {
  for (const auto& [kernel, parameters] : own_) static_cast<void>(change(kernel, parameters));
}

void ClBlastParameters::set(const ProductParameters& products) const {
  for (const auto& [kernel, parameters] : products) {
    check_opencl(change(kernel, parameters), fmt::format("CLBlastOverrideParameters({})", kernel));
  }
}

int ClBlastParameters::change(const std::string& kernel, const KernelParameters& parameters) const {
  std::vector<const char*> names;
  std::vector<std::size_t> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value);
  }
  for (cl_device_id device : devices_) {
    const int status = library_.override_parameters(
        device, kernel.c_str(), CLBlastPrecisionSingle, names.size(), names.data(), values.data());
    if (status != CLBlastSuccess) return status;
  }
  return CLBlastSuccess;
}

std::string opencl_status_text(int status) {
  for (const StatusName& one : status_names) {
    if (one.status == status) return fmt::format("{} ({})", one.name, status);
  }
  return fmt::format("status {}", status);
}

void check_opencl(int status, std::string_view call) {
  if (status == CL_SUCCESS) [[likely]]
    return;
  throw DeviceError(fmt::format("{}: {}", call, opencl_status_text(status)));
}

}  // namespace schedlab::detail
