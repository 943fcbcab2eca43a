// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_context.hpp"

#include "real_exec/opencl/opencl_kernels.hpp"
#include "real_exec/opencl/opencl_recurrent_kernels.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace schedlab {
namespace {

using detail::check_opencl;
using detail::OpenClLibrary;

// Of cl_khr_priority_hints, which older headers lack.
constexpr cl_queue_properties queue_priority_key = 0x1096;
constexpr cl_queue_properties queue_priority_high = 1;
constexpr cl_queue_properties queue_priority_medium = 2;
constexpr cl_queue_properties queue_priority_low = 4;
constexpr cl_queue_properties queue_throttle_key = 0x1097;  // of cl_khr_throttle_hints
constexpr cl_queue_properties queue_throttle_high = 1;

template <class Ask>
std::string text_of(const Ask& ask, const char* call) {
  std::size_t size = 0;
  check_opencl(ask(0, nullptr, &size), call);
  std::string text(size, '\0');
  check_opencl(ask(size, text.data(), nullptr), call);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string device_text(const OpenClLibrary& cl, cl_device_id device, cl_device_info what) {
  return text_of(
      [&](std::size_t size, void* to, std::size_t* got) {
        return cl.get_device_info(device, what, size, to, got);
      },
      "clGetDeviceInfo");
}

std::string platform_text(const OpenClLibrary& cl, cl_platform_id platform, cl_platform_info what) {
  return text_of(
      [&](std::size_t size, void* to, std::size_t* got) {
        return cl.get_platform_info(platform, what, size, to, got);
      },
      "clGetPlatformInfo");
}

template <class Value>
Value device_value(const OpenClLibrary& cl, cl_device_id device, cl_device_info what) {
  Value value{};
  check_opencl(cl.get_device_info(device, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

std::string kind_of(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator" : "other";
}

Bytes bytes_of(cl_ulong count) {
  return Bytes{static_cast<std::int64_t>(count)};
}

/// Are there command buffers whose kernels wait for nothing but what they are told to?
bool has_device_graphs(const OpenClLibrary& cl, cl_device_id device) {
  const auto queues =
      device_value<cl_command_queue_properties>(cl, device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
  const auto buffers = device_value<cl_device_command_buffer_capabilities_khr>(
      cl, device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR);
  return (queues & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 &&
         (buffers & CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR) != 0;
}

OpenClDeviceFacts facts_of(const OpenClLibrary& cl, cl_platform_id platform, cl_device_id device) {
  // Words between single blanks.
  const std::string extensions = ' ' + device_text(cl, device, CL_DEVICE_EXTENSIONS) + ' ';
  const auto has = [&](const char* name) {
    return extensions.find(fmt::format(" {} ", name)) != std::string::npos;
  };
  return {
      .name = device_text(cl, device, CL_DEVICE_NAME),
      .platform = fmt::format("{}, {}",
                              platform_text(cl, platform, CL_PLATFORM_NAME),
                              platform_text(cl, platform, CL_PLATFORM_VERSION)),
      .driver = device_text(cl, device, CL_DRIVER_VERSION),
      .kind = kind_of(device_value<cl_device_type>(cl, device, CL_DEVICE_TYPE)),
      .units = device_value<cl_uint>(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS),
      .max_groups = device_value<cl_uint>(cl, device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES),
      .memory = bytes_of(device_value<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE)),
      .max_allocation = bytes_of(device_value<cl_ulong>(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
      .cache = bytes_of(device_value<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE)),
      .priorities = has("cl_khr_priority_hints"),
      .throttles = has("cl_khr_throttle_hints"),
      .device_graphs = has("cl_khr_command_buffer") && has_device_graphs(cl, device),
      .fp64 = device_value<cl_device_fp_config>(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
      .available = device_value<cl_bool>(cl, device, CL_DEVICE_AVAILABLE) == CL_TRUE};
}

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
};

std::vector<FoundDevice> found_devices(const OpenClLibrary& cl) {
  cl_uint count = 0;
  const cl_int counted = cl.get_platform_ids(0, nullptr, &count);
  if (counted == CL_PLATFORM_NOT_FOUND_KHR || (counted == CL_SUCCESS && count == 0)) {
    throw DeviceError(
        "no OpenCL driver on this computer; install that of the device, or for the cores of this "
        "computer the package pocl-opencl-icd");
  }
  check_opencl(counted, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check_opencl(cl.get_platform_ids(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<FoundDevice> found;
  for (cl_platform_id platform : platforms) {
    cl_uint number = 0;
    const cl_int asked = cl.get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &number);
    if (asked == CL_DEVICE_NOT_FOUND) continue;
    check_opencl(asked, "clGetDeviceIDs");
    std::vector<cl_device_id> devices(number);
    check_opencl(cl.get_device_ids(platform, CL_DEVICE_TYPE_ALL, number, devices.data(), nullptr),
                 "clGetDeviceIDs");
    for (cl_device_id device : devices) found.push_back({platform, device});
  }
  if (found.empty()) throw DeviceError("no OpenCL device: the drivers of this computer have none");
  return found;
}

}  // namespace

OpenClDevices opencl_devices(const std::string& library) {
  OpenClDevices all;
  try {
    const OpenClLibrary cl(library);
    for (const FoundDevice& one : found_devices(cl)) {
      all.devices.push_back(facts_of(cl, one.platform, one.device));
    }
  } catch (const std::exception& error) {
    all.reason = error.what();
  }
  return all;
}

namespace detail {
namespace {

OpenClHandle<cl_program> compiled(const OpenClContext& made) {
  std::array sources{opencl_kernels, opencl_recurrent_kernels};
  cl_int status = CL_SUCCESS;
  cl_program program = made.cl.create_program(
      made.context.get(), static_cast<cl_uint>(sources.size()), sources.data(), nullptr, &status);
  check_opencl(status, "clCreateProgramWithSource");
  OpenClHandle<cl_program> owned(program, made.cl.release_program);
  const std::vector<cl_device_id> targets = made.targets();
  status = made.cl.build_program(
      program, static_cast<cl_uint>(targets.size()), targets.data(), "", nullptr, nullptr);
  if (status == CL_SUCCESS) return owned;
  const std::string log = text_of(
      [&](std::size_t size, void* to, std::size_t* got) {
        return made.cl.get_build_info(
            program, targets.front(), CL_PROGRAM_BUILD_LOG, size, to, got);
      },
      "clGetProgramBuildInfo");
  throw DeviceError(fmt::format("the driver of {} does not compile the kernels: {}\n{}",
                                made.facts.name,
                                opencl_status_text(status),
                                log));
}

DeviceProperties properties_of(const OpenClDeviceFacts& facts) {
  DeviceProperties properties;
  properties.name = facts.name;
  properties.executor = "an OpenCL device";
  // Three with the extension: low, medium, high.
  properties.greatest_priority = facts.priorities ? -2 : 0;
  properties.units = facts.units;
  properties.memory = facts.memory;
  return properties;
}

/// Throws DeviceError if the device cannot be split so.
std::vector<OpenClDeviceHandle> split_device(const OpenClContext& made, std::uint32_t group_units) {
  if (group_units == 0) return {};
  const auto refused = [&](std::string_view reason) {
    return DeviceError(fmt::format("{} with {} compute units is not split into groups of {}: {}",
                                   made.facts.name,
                                   made.facts.units,
                                   group_units,
                                   reason));
  };
  if (group_units > made.facts.units) throw refused("a group has at most all of them");
  const std::array<cl_device_partition_property, 3> equal{
      CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(group_units), 0};
  std::vector<cl_device_id> parts(made.facts.units / group_units);
  const cl_int status = made.cl.create_sub_devices(
      made.device, equal.data(), static_cast<cl_uint>(parts.size()), parts.data(), nullptr);
  if (status != CL_SUCCESS) {
    throw refused(opencl_status_text(status));
  }
  std::vector<OpenClDeviceHandle> groups;
  for (cl_device_id part : parts) groups.emplace_back(part, made.cl.release_device);
  return groups;
}

}  // namespace

std::vector<cl_device_id> OpenClContext::targets() const {
  if (groups.empty()) return {device};
  std::vector<cl_device_id> all;
  for (const OpenClDeviceHandle& group : groups) all.push_back(group.get());
  return all;
}

cl_kernel OpenClContext::kernel(const std::string& name) {
  const auto known = kernels.find(name);
  if (known != kernels.end()) return known->second.get();
  cl_int status = CL_SUCCESS;
  cl_kernel made = cl.create_kernel(program.get(), name.c_str(), &status);
  check_opencl(status, fmt::format("clCreateKernel({})", name));
  return kernels.emplace(name, OpenClKernel(made, cl.release_kernel)).first->second.get();
}

const ClBlastLibrary& OpenClContext::products() {
  if (blas) return *blas;
  blas.emplace(blas_file);
  if (!wanted_products.empty() && blas->takes_parameters()) {
    product_parameters().set(wanted_products);
  }
  return *blas;
}

const ClBlastParameters& OpenClContext::product_parameters() {
  if (!blas_parameters) blas_parameters.emplace(products(), targets());
  return *blas_parameters;
}

OpenClBuffer OpenClContext::make_buffer(std::size_t bytes) const {
  cl_int status = CL_SUCCESS;
  cl_mem made = cl.create_buffer(
      context.get(), CL_MEM_READ_WRITE, std::max<std::size_t>(bytes, 1), nullptr, &status);
  check_opencl(status, fmt::format("clCreateBuffer of {} bytes", bytes));
  return {made, cl.release_buffer};
}

OpenClQueue OpenClContext::make_queue(int priority, std::uint32_t stream) const {
  std::vector<cl_queue_properties> wanted{CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE};
  if (facts.priorities) {
    constexpr std::array by_urgency{queue_priority_low, queue_priority_medium, queue_priority_high};
    wanted.push_back(queue_priority_key);
    wanted.push_back(by_urgency.at(static_cast<std::size_t>(properties.least_priority - priority)));
  }
  // Else a driver may lower the clock rate of what it believes to be unimportant.
  if (facts.throttles) wanted.insert(wanted.end(), {queue_throttle_key, queue_throttle_high});
  wanted.push_back(0);
  cl_int status = CL_SUCCESS;
  cl_device_id target = groups.empty() ? device : groups[stream % groups.size()].get();
  cl_command_queue made = cl.create_queue(context.get(), target, wanted.data(), &status);
  check_opencl(status, "clCreateCommandQueueWithProperties");
  return {made, cl.release_queue};
}

OpenClQueue OpenClContext::make_queue_without_order() const {
  const std::array<cl_queue_properties, 3> wanted{
      CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  cl_int status = CL_SUCCESS;
  cl_command_queue made = cl.create_queue(context.get(), device, wanted.data(), &status);
  check_opencl(status, "clCreateCommandQueueWithProperties");
  return {made, cl.release_queue};
}

std::shared_ptr<OpenClContext> make_opencl_context(const OpenClExecutorOptions& options) {
  auto made = std::make_shared<OpenClContext>(options.library);
  const std::vector<FoundDevice> found = found_devices(made->cl);
  if (options.device < 0 || static_cast<std::size_t>(options.device) >= found.size()) {
    throw DeviceError(fmt::format(
        "no OpenCL device {}: this computer has {}, counted from 0", options.device, found.size()));
  }
  const FoundDevice& chosen = found[static_cast<std::size_t>(options.device)];
  made->device = chosen.device;
  made->facts = facts_of(made->cl, chosen.platform, chosen.device);
  if (!made->facts.available) {
    throw DeviceError(fmt::format("OpenCL device {} ({}) is not available, says its driver",
                                  options.device,
                                  made->facts.name));
  }
  made->properties = properties_of(made->facts);
  made->blas_file = options.blas_library;
  made->wanted_products = options.products;
  constexpr std::size_t usual_group = 256;  // assumed: fills units of every vendor
  made->group_size =
      std::min(usual_group,
               device_value<std::size_t>(made->cl, made->device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  if (made->facts.device_graphs && options.group_units == 0) {
    made->command_buffers.emplace(made->cl, chosen.platform);
  }
  made->groups = split_device(*made, options.group_units);
  const std::vector<cl_device_id> targets = made->targets();
  cl_int status = CL_SUCCESS;
  cl_context context = made->cl.create_context(
      nullptr, static_cast<cl_uint>(targets.size()), targets.data(), nullptr, nullptr, &status);
  check_opencl(status, "clCreateContext");
  made->context = {context, made->cl.release_context};
  made->program = compiled(*made);
  return made;
}

}  // namespace detail
}  // namespace schedlab
