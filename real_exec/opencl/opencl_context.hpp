// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_backend.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_library.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab::detail {

/// A buffer of recurrent networks, under the address that stands for its first byte.
struct OpenClArray {
  OpenClBuffer handle;
  std::size_t bytes = 0;
};
using OpenClArrays = std::map<std::uintptr_t, OpenClArray>;

/// What an executor and its works share of a device.
struct OpenClContext {
  OpenClLibrary cl;
  OpenClDeviceFacts facts;
  DeviceProperties properties;
  cl_device_id device = nullptr;
  /// Sub-devices that streams are spread over; empty: the device is not split.
  std::vector<OpenClDeviceHandle> groups;
  OpenClHandle<cl_context> context;
  OpenClHandle<cl_program> program;
  std::map<std::string, OpenClKernel> kernels;          ///< made when they are first launched
  std::optional<OpenClCommandBuffers> command_buffers;  ///< of a device that is not split
  std::string blas_file;
  ProductParameters wanted_products;                 ///< empty: CLBlast's own
  std::optional<ClBlastLibrary> blas;                ///< loaded for the first product
  std::optional<ClBlastParameters> blas_parameters;  ///< where they are not its own
  /// Of all networks, which hand values on to each other; arrays may go later than this.
  std::shared_ptr<OpenClArrays> arrays = std::make_shared<OpenClArrays>();
  std::size_t group_size = 1;  ///< work items of a group, of kernels over arrays

  explicit OpenClContext(const std::string& library) : cl(library) {}

  /// Of our program. Throws DeviceError.
  [[nodiscard]] cl_kernel kernel(const std::string& name);
  [[nodiscard]] const ClBlastLibrary& products();
  /// To be changed. Of a library that takes parameters. Throws DeviceError.
  [[nodiscard]] const ClBlastParameters& product_parameters();
  /// A buffer on the device, not initialized. Throws DeviceError.
  [[nodiscard]] OpenClBuffer make_buffer(std::size_t bytes) const;
  /// In order, with times of its commands; `priority` is of properties. On a split device streams
  /// take the groups in turn. Throws DeviceError.
  [[nodiscard]] OpenClQueue make_queue(int priority, std::uint32_t stream = 0) const;
  /// For command buffers.
  [[nodiscard]] OpenClQueue make_queue_without_order() const;
  /// What kernels are compiled for: the device, or its groups.
  [[nodiscard]] std::vector<cl_device_id> targets() const;
  /// Compute units that a kernel has.
  [[nodiscard]] std::uint32_t kernel_units() const {
    return groups.empty() ? facts.units : facts.units / static_cast<std::uint32_t>(groups.size());
  }
  [[nodiscard]] OpenClEvent own(cl_event event) const { return {event, cl.release_event}; }
};

/// Makes the context on the device that the options name, and compiles the kernels.
/// Throws DeviceError.
[[nodiscard]] std::shared_ptr<OpenClContext> make_opencl_context(
    const OpenClExecutorOptions& options);

}  // namespace schedlab::detail
