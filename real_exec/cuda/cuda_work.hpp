// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/executor/plan_executor.hpp"
#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "real_exec/recurrent/trained_network.hpp"
#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace schedlab {

namespace detail {
class CudaBackend;
struct CudaContext;
struct CudaLaunch;
struct KeptGraphs;
}  // namespace detail

class CudaExecutor;

/// What the tasks of one graph launch on a CUDA device.
class CudaWork : public DeviceWork {
 public:
  /// Puts the task's kernels and copies into a stream, in order. Throws DeviceError.
  virtual void launch(TaskId task, const detail::CudaLaunch& to) = 0;
  /// Does any task multiply matrices? Only then streams have handles of cuBLAS.
  [[nodiscard]] virtual bool multiplies() const { return true; }

 protected:
  /// What tasks launch has other addresses or arguments from now on: device graphs that were made
  /// of launches before are not used again.
  void launches_change() { graphs_.reset(); }

 private:
  friend class detail::CudaBackend;
  bool warm_ = false;  // one task of each operation has been launched
  std::shared_ptr<detail::KeptGraphs> graphs_;
};

using CudaPrecision = ProductPrecision;
/// That of a workload's data type; nullopt: no such arithmetic here.
[[nodiscard]] std::optional<CudaPrecision> cuda_precision_of(DataType type);

/// Computes the tasks of recurrent(spec) on a device: every cell, pass, granularity, accumulation,
/// direction and optimizer, from the same inputs as RecurrentWork on the CPU and with the same
/// results, so that one reference checks both.
///
/// States, gates, weights and gradients are fp32. With tf32 the products round their factors on the
/// way; with bf16 what is multiplied is kept in bf16 besides. Before each run everything that tasks
/// write is filled with NaN.
///
/// Memory  as of RecurrentWork, whole_run or by_tensor. By tensor, addresses are given when a task
///         is launched: a tensor gets memory that another one had if the plan's order alone says
///         that all tasks that used it have ended. memory() counts what cudaMalloc was asked for,
///         which is what the tensors hold where one stream orders all tasks, and more the less is
///         ordered. The first run takes more than later ones of the same plan.
/// Errors  InfeasibleError if neither `precision` nor the spec's type is fp32, tf32 or bf16, for
///         by_tensor in bf16, and for what RecurrentWork refuses to take by tensor;
///         ContractViolation, naming the task, if `graph` is not recurrent(spec): the grid of its
///         kernels may differ, nothing else; DeviceError, for lack of memory above all.
class CudaRecurrentWork final : public CudaWork, public TrainedNetwork {
 public:
  /// `precision`: nullopt: that of spec.type.
  CudaRecurrentWork(const CudaExecutor& executor,
                    const RecurrentSpec& spec,
                    const TaskGraph& graph,
                    std::uint64_t seed,
                    std::optional<CudaPrecision> precision = std::nullopt,
                    TensorAllocation allocation = TensorAllocation::whole_run);
  CudaRecurrentWork(const CudaRecurrentWork&) = delete;
  CudaRecurrentWork& operator=(const CudaRecurrentWork&) = delete;
  ~CudaRecurrentWork() override;

  void launch(TaskId task, const detail::CudaLaunch& to) override;
  void reset() override;

  [[nodiscard]] std::optional<AllocatedMemory> memory() const override;

  void train_on(const PaddedBatch& batch) override;
  void continue_from(const TrainedNetwork& other) override;
  [[nodiscard]] float loss() const override;
  [[nodiscard]] Bytes kept_memory() const override;

  [[nodiscard]] CudaPrecision precision() const;
  /// What the run was given; for a reference that computes the same.
  [[nodiscard]] const RecurrentInputs<float>& inputs() const;
  [[nodiscard]] RecurrentResults<float> results() const override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Where and when a block of a spinning kernel ran.
struct CudaBlockRecord {
  TaskId task;
  std::uint32_t block = 0;
  std::uint32_t unit = 0;        ///< multiprocessor (%smid)
  std::uint64_t started_ns = 0;  ///< the device's own clock (%globaltimer)
  std::uint64_t ended_ns = 0;
};

struct CudaProxyOptions {
  ProxyKernels kernels = ProxyKernels::shapes;
  /// Arithmetic of products whose kernels are fp32, tf32 or bf16; nullopt: as the kernel says.
  std::optional<CudaPrecision> precision{};
  bool record_blocks = false;  ///< of kernels that spin
};

/// Kernels with the shapes and sizes of a graph's operations, on data of no meaning: products by
/// cuBLAS, copies between host and device, kernels that read and write their bytes.
///
/// Tasks that spin last as long as their costs say when alone: one kernel with the grid, threads
/// and shared memory of the operation's first kernel, if it has one (registers are the spin's own);
/// blocks beyond what fits at once run in waves, and each takes its wave's share.
class CudaProxyWork final : public CudaWork {
 public:
  /// References must outlive this. `costs`: durations of tasks that spin.
  CudaProxyWork(const CudaExecutor& executor,
                const TaskGraph& graph,
                const CostTable& costs,
                const CudaProxyOptions& options = {});
  CudaProxyWork(const CudaProxyWork&) = delete;
  CudaProxyWork& operator=(const CudaProxyWork&) = delete;
  ~CudaProxyWork() override;

  void launch(TaskId task, const detail::CudaLaunch& to) override;
  [[nodiscard]] bool multiplies() const override;
  void reset() override;

  /// Blocks of the latest run, by task and block; empty without record_blocks.
  [[nodiscard]] std::vector<CudaBlockRecord> block_records() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace schedlab
