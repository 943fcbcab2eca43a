// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_graphs.hpp"
#include "real_exec/cuda/cuda_handles.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/cuda/green_contexts.hpp"
#include "real_exec/cuda/steady_state.hpp"
#include "real_exec/executor/device_backend.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Streams, events and graphs of a CUDA device. The handles of cuBLAS, one per stream number, the
/// events and the streams are kept between runs, so that what a plan or policy creates within its
/// run was mostly there before, as the streams of a library are; a work keeps its graphs.
class CudaBackend final : public DeviceBackend {
 public:
  explicit CudaBackend(std::shared_ptr<const CudaContext> context)
      : context_(std::move(context)), graphs_(context_) {}

  /// What tasks launch in the runs from now on; must outlive them.
  void use(CudaWork& work) { work_ = &work; }

  [[nodiscard]] const DeviceProperties& properties() const override { return context_->properties; }
  void begin_run(const RunRequest& request) override;
  std::vector<LoadedNode> load_graph(const GraphRow& row, LaunchObserver* observer) override;
  void divide_units(const std::vector<std::uint32_t>& partitions) override;
  void begin_steadily() override;
  [[nodiscard]] CpuClock start_clock() override;
  void create_stream(StreamId stream, int priority, const StreamSpec& spec) override;
  void destroy_stream(StreamId stream) override;
  void launch(StreamId stream, TaskId task) override;
  void launch_programmatically(StreamId stream, TaskId task) override;
  void record(StreamId stream, EventId event) override;
  void wait(StreamId stream, EventId event) override;
  [[nodiscard]] bool idle(StreamId stream) override;
  void synchronize(StreamId stream) override;
  void synchronize(EventId event) override;
  void synchronize() override;
  void launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) override;
  void end_run() override;
  [[nodiscard]] std::vector<TaskTime> task_times() override;

 private:
  /// Priority; does it wait for the legacy default stream?; partition, none: all units.
  using StreamKind = std::tuple<int, bool, std::optional<std::uint32_t>>;
  struct Stream {
    cudaStream_t handle = nullptr;
    CudaStream owned;  // empty: the legacy default stream
    StreamKind kind;
    std::uint32_t number = 0;  // of all that were made
  };

  void warm_up();
  void launch(StreamId stream, TaskId task, bool programmatic);
  /// Into the pool, of which nothing is taken before the next run: work may still be in it.
  void give_back(Stream& stream);
  Stream& stream_of(StreamId stream);
  [[nodiscard]] CudaBlas& blas_of(StreamId stream);
  cudaEvent_t event_of(EventId event);

  std::shared_ptr<const CudaContext> context_;
  CudaWork* work_ = nullptr;
  std::optional<RunRequest> request_;
  bool clock_started_ = false;
  IdVector<StreamId, Stream> streams_;
  std::uint32_t streams_made_ = 0;
  IdVector<StreamId, std::unique_ptr<CudaBlas>> blas_;
  std::vector<CudaEvent> events_;  // of earlier runs complete, which is as good as not recorded
  std::unique_ptr<GreenContexts> green_;  // before their streams, which go first
  std::vector<std::uint32_t> green_units_;
  bool divided_ = false;  // in this run
  std::map<StreamKind, std::vector<CudaStream>> idle_streams_;
  std::vector<std::pair<StreamKind, CudaStream>> used_streams_;  // destroyed in this run
  std::shared_ptr<KeptGraphs> kept_;                             // the work's
  bool timed_run_ = false;
  std::vector<TaskId> timed_;  // launched, each on its own or in a graph
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<TaskId>> row_tasks_;
  CudaGraphs graphs_;
  std::optional<SteadyState> steady_;
  CudaEvent origin_;
  Time origin_time_{};  // of origin_, on the run's clock: before time 0
};

}  // namespace schedlab::detail
