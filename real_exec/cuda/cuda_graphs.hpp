// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_handles.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/executor/device_backend.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// The two timing events of a task.
struct TaskEvents {
  CudaEvent started;
  CudaEvent ended;
};

/// The device graphs of one run.
///
/// A graph is made node by node: what a task launches is captured straight into the graph, with the
/// last nodes of the tasks it needs as dependencies, so that the graph has the plan's edges and no
/// others. Priorities are set at each kernel node and read back. All of a task's launches must go
/// into the one stream it is given.
class CudaGraphs {
 public:
  /// References must outlive this. `blas`: handles for lanes of graphs, of which more are made
  /// where they do not suffice.
  CudaGraphs(const CudaContext& context,
             const RunRequest& request,
             std::vector<std::unique_ptr<CudaBlas>>& blas)
      : context_(context), request_(request), blas_(blas) {}

  /// Makes an executable graph and uploads it. `events`: by task; empty without timing.
  std::vector<LoadedNode> load(const GraphRow& row,
                               CudaWork& work,
                               LaunchObserver* observer,
                               const std::vector<TaskEvents>& events);
  /// Behind the graph's launch before, in whatever stream.
  void launch(cudaStream_t stream, std::uint32_t graph, std::uint32_t row);

 private:
  /// The parts of one node on the device.
  struct Parts {
    std::vector<cudaGraphNode_t> all;
    std::vector<cudaGraphNode_t> last;  ///< what a node that needs this one depends on
  };
  using Owners = std::map<cudaGraphNode_t, std::uint32_t>;
  struct Lanes {
    std::size_t first = 0;          // of the handles
    std::vector<std::uint32_t> of;  // by node
  };
  struct Executable {
    CudaGraph graph;
    CudaGraphExec exec;
  };

  Lanes& lanes_of(const GraphRow& row);
  cudaStream_t capture_stream(int priority);
  Parts capture(cudaGraph_t graph,
                const std::vector<cudaGraphNode_t>& needs,
                const GraphRow& row,
                std::uint32_t node,
                CudaWork& work);
  static void add_event(cudaGraph_t graph, Parts& parts, cudaEvent_t event);
  static void own_parts(Parts& parts, std::uint32_t node, Owners& owners);
  static void set_priority(const Parts& parts, int priority);
  static LoadedNode read_back(const Parts& parts, std::uint32_t node, const Owners& owners);

  const CudaContext& context_;
  const RunRequest& request_;
  std::vector<std::unique_ptr<CudaBlas>>& blas_;
  std::size_t used_blas_ = 0;
  std::map<int, CudaStream> capture_streams_;  // by priority
  std::map<std::uint32_t, Lanes> lanes_;       // by graph
  std::map<std::pair<std::uint32_t, std::uint32_t>, Executable> rows_;
  std::map<std::uint32_t, CudaEvent> done_;  // of graphs with several rows: the launch before
};

}  // namespace schedlab::detail
