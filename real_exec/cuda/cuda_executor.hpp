// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "sim/base/enum_names.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace schedlab {

/// Can plans be run on a CUDA device of this computer?
struct CudaAvailability {
  bool available = false;
  std::string reason;  ///< why not, and what to do; of an available device its name
};
/// Looks at the device with this number; never throws. Starts the driver, but makes no context.
[[nodiscard]] CudaAvailability cuda_available(int device = 0);

/// What multiplies matrices, for all works of an executor.
enum class CudaProducts : std::uint8_t {
  cublas,    ///< cuBLAS, by its own choice of kernel
  cublaslt,  ///< cuBLASLt: for each shape the fastest of its suggestions, measured before a run
};
template <>
struct EnumNames<CudaProducts> {
  static constexpr auto names = name_list("cublas", "cublaslt");
};

struct CudaExecutorOptions {
  int device = 0;
  /// Hardware connections, 1 to 32: CUDA_DEVICE_MAX_CONNECTIONS of this process, set before the
  /// device's context is made. nullopt: as the environment says, else CUDA's 8.
  std::optional<std::uint32_t> connections{};
  CudaProducts products = CudaProducts::cublas;
  DeviceExecutorOptions run{};
};

/// Runs plans on a CUDA device: DeviceExecutor on a backend of streams that do not block, events
/// without timing and a workspace of cuBLAS per stream (docs/gpu_execution.md). One run at a time,
/// by one thread.
class CudaExecutor final : public PlanExecutor {
 public:
  /// Throws DeviceError with the reason of cuda_available(), if cuBLAS cannot be loaded, or if the
  /// device's context exists already with another number of connections; InputError for
  /// connections outside 1 to 32.
  explicit CudaExecutor(const CudaExecutorOptions& options = {});
  CudaExecutor(const CudaExecutor&) = delete;
  CudaExecutor& operator=(const CudaExecutor&) = delete;
  ~CudaExecutor() override;

  [[nodiscard]] const DeviceProperties& properties() const override;
  [[nodiscard]] DeviceExecutorOptions& run_options() override;

  /// As DeviceExecutor::run(). The first run of a work launches one task of each operation before,
  /// so that code is loaded and cuBLAS has chosen when the clock starts.
  void run(const TaskGraph& graph, const Plan& plan, DeviceWork& work, Execution& out) override;
  void run(const Problem& problem, OnlinePolicy& policy, DeviceWork& work, Execution& out) override;

  /// For works, which share the device with the executor.
  [[nodiscard]] std::shared_ptr<const detail::CudaContext> context() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace schedlab
