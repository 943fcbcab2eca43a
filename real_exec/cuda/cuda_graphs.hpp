// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cuda/cuda_blas.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_handles.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/executor/device_backend.hpp"
#include "sim/plan/device_graph.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <list>
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

/// Handles of cuBLAS for the lanes of graphs, by the graph's number in its plan.
using GraphHandles = std::map<std::uint32_t, std::vector<std::unique_ptr<CudaBlas>>>;

/// The executable device graphs that were made of a work's launches: one for each row of an equal
/// graph under the same number in a plan, with or without timing events. They are launched as often
/// as such plans run.
struct KeptGraphs {
  struct Row {
    std::vector<int> priorities;
    CudaGraph graph;
    CudaGraphExec exec;
    std::vector<LoadedNode> nodes;
  };
  struct Graph {
    std::uint32_t number = 0;
    DeviceGraph shape;
    bool timed = false;
    std::vector<std::uint32_t> lanes;  ///< by node
    std::map<std::uint32_t, Row> rows;
    CudaEvent done;  ///< of a graph with several rows: the launch before
  };

  std::shared_ptr<const CudaContext> context;
  std::shared_ptr<GraphHandles> handles;  ///< whose workspaces the graphs use
  std::vector<TaskEvents> events;         ///< by task; empty until a run is timed
  std::list<Graph> graphs;                ///< the latest first
};

/// Makes device graphs and launches them.
///
/// A graph is made node by node: what a task launches is captured straight into the graph, with the
/// last nodes of the tasks it needs as dependencies, so that the graph has the plan's edges and no
/// others. Priorities are set at each kernel node and read back. All of a task's launches must go
/// into the one stream it is given.
class CudaGraphs {
 public:
  explicit CudaGraphs(std::shared_ptr<const CudaContext> context)
      : context_(std::move(context)), handles_(std::make_shared<GraphHandles>()) {}

  /// `request` and `kept`, if it holds anything of this device, must outlive the run. Few graphs
  /// are kept from runs long ago.
  void begin_run(const RunRequest& request, std::shared_ptr<KeptGraphs>& kept);
  /// An executable graph, uploaded. Made anew if there is an observer, who is told of each node.
  std::vector<LoadedNode> load(const GraphRow& row, CudaWork& work, LaunchObserver* observer);
  /// Behind the graph's launch before, in whatever stream.
  void launch(cudaStream_t stream, std::uint32_t graph, std::uint32_t row);

 private:
  /// The parts of one node on the device.
  struct Parts {
    std::vector<cudaGraphNode_t> all;
    std::vector<cudaGraphNode_t> last;  ///< what a node that needs this one depends on
  };
  using Owners = std::map<cudaGraphNode_t, std::uint32_t>;

  KeptGraphs::Graph& graph_of(const GraphRow& row, bool multiplies);
  KeptGraphs::Row make(const GraphRow& row,
                       const KeptGraphs::Graph& graph,
                       CudaWork& work,
                       LaunchObserver* observer);
  cudaStream_t capture_stream(int priority);
  Parts capture(cudaGraph_t graph,
                const std::vector<cudaGraphNode_t>& needs,
                const GraphRow& row,
                std::uint32_t node,
                CudaBlas& blas,
                CudaWork& work);
  static void add_event(cudaGraph_t graph, Parts& parts, cudaEvent_t event);
  static void own_parts(Parts& parts, std::uint32_t node, Owners& owners);
  static void set_priority(const Parts& parts, int priority);
  static LoadedNode read_back(const Parts& parts, std::uint32_t node, const Owners& owners);

  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<GraphHandles> handles_;
  std::map<int, CudaStream> capture_streams_;  // by priority
  const RunRequest* request_ = nullptr;
  KeptGraphs* kept_ = nullptr;
  std::map<std::uint32_t, KeptGraphs::Graph*> of_run_;  // by number
};

}  // namespace schedlab::detail
