// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/opencl/product_tuning.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

namespace detail {
struct OpenClContext;
}  // namespace detail

/// What an OpenCL device says of itself.
struct OpenClDeviceFacts {
  std::string name;
  std::string platform;  ///< and its version
  std::string driver;
  std::string kind;              ///< "cpu", "gpu", "accelerator" or "other"
  std::uint32_t units = 0;       ///< compute units
  std::uint32_t max_groups = 0;  ///< sub-devices that it can be split into; 0 or 1: it cannot
  Bytes memory{};                ///< of the device
  Bytes max_allocation{};        ///< of one buffer
  Bytes cache{};                 ///< of global memory; 0: none, or the driver does not say
  bool priorities = false;       ///< cl_khr_priority_hints
  bool throttles = false;        ///< cl_khr_throttle_hints
  bool device_graphs = false;    ///< cl_khr_command_buffer, out of order; no products
  bool fp64 = false;
  bool available = false;
};

/// All OpenCL devices of this computer.
struct OpenClDevices {
  /// Numbered as --device opencl:N does: platform by platform, as the loader lists them.
  std::vector<OpenClDeviceFacts> devices;
  std::string reason;  ///< why there is none, and what to do; empty: there is one
};
/// Never throws. `library`: the loader of drivers.
[[nodiscard]] OpenClDevices opencl_devices(const std::string& library = "libOpenCL.so.1");

struct OpenClExecutorOptions {
  int device = 0;  ///< as opencl_devices() numbers them
  /// Splits the device into sub-devices of so many compute units, core groups, over which streams
  /// are spread in turn: a kernel runs on one group. 0: not split.
  std::uint32_t group_units = 0;
  std::string library = "libOpenCL.so.1";        ///< the loader of drivers, for dlopen
  std::string blas_library = "libclblast.so.1";  ///< likewise
  ProductParameters products{};                  ///< of CLBlast, while the executor lives
  DeviceExecutorOptions run{};
};

/// Runs plans on an OpenCL device: DeviceExecutor on in-order command queues that are flushed after
/// each call, markers as events and barriers as waits (docs/opencl.md). One run at a time, by one
/// thread.
class OpenClExecutor final : public PlanExecutor {
 public:
  /// Throws DeviceError if there is no such device, or if its driver cannot split it, make a
  /// context or compile the kernels.
  explicit OpenClExecutor(const OpenClExecutorOptions& options = {});
  OpenClExecutor(const OpenClExecutor&) = delete;
  OpenClExecutor& operator=(const OpenClExecutor&) = delete;
  ~OpenClExecutor() override;

  [[nodiscard]] const DeviceProperties& properties() const override;
  [[nodiscard]] DeviceExecutorOptions& run_options() override;
  [[nodiscard]] const OpenClDeviceFacts& facts() const;
  /// What multiplies matrices: "clblast" or, with the options' parameters, "clblast, tuned"; where
  /// the library takes none, "clblast, not tuned" and why.
  [[nodiscard]] std::string products() const;

  /// As DeviceExecutor::run(). The first run of a work launches one task of each operation before,
  /// so that kernels are compiled when the clock starts. Throws InfeasibleError for plans with
  /// device graphs or with the legacy default stream.
  void run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) override;
  void run(const Problem& problem, OnlinePolicy& policy, DeviceWork& work, Execution& out) override;

  /// For works, which share the device with the executor.
  [[nodiscard]] std::shared_ptr<detail::OpenClContext> context() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace schedlab
