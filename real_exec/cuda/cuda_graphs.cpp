// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_graphs.hpp"

#include "real_exec/cuda/cuda_launch.hpp"
#include "real_exec/executor/graph_lanes.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab::detail {
namespace {

/// Nodes and what an edge to them carries; the run-time refuses to drop the second silently.
std::vector<cudaGraphNode_t> dependencies(cudaGraphNode_t node) {
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  check_cuda(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count),
             "cudaGraphNodeGetDependencies");
  std::vector<cudaGraphNode_t> nodes(count);
  std::vector<cudaGraphEdgeData> edges(count);
  if (count > 0) {
    check_cuda(cudaGraphNodeGetDependencies(node, nodes.data(), edges.data(), &count),
               "cudaGraphNodeGetDependencies");
  }
#else
  check_cuda(cudaGraphNodeGetDependencies_v2(node, nullptr, nullptr, &count),
             "cudaGraphNodeGetDependencies");
  std::vector<cudaGraphNode_t> nodes(count);
  std::vector<cudaGraphEdgeData> edges(count);
  if (count > 0) {
    check_cuda(cudaGraphNodeGetDependencies_v2(node, nodes.data(), edges.data(), &count),
               "cudaGraphNodeGetDependencies");
  }
#endif
  return nodes;
}

/// What the next launch into a stream that is being captured would depend on.
std::vector<cudaGraphNode_t> last_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  check_cuda(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count),
             "cudaStreamGetCaptureInfo");
#else
  check_cuda(cudaStreamGetCaptureInfo_v3(stream, &status, nullptr, nullptr, &nodes, &edges, &count),
             "cudaStreamGetCaptureInfo");
#endif
  if (status != cudaStreamCaptureStatusActive) {
    throw DeviceError("the capture of the task's launches was invalidated");
  }
  return {nodes, nodes + count};
}

bool is_kernel(cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
  return type == cudaGraphNodeTypeKernel;
}

/// A capture of one task; ends it also when a launch throws.
class Capture {
 public:
  Capture(cudaStream_t stream, cudaGraph_t graph, const std::vector<cudaGraphNode_t>& needs)
      : stream_(stream) {
    check_cuda(cudaStreamBeginCaptureToGraph(stream,
                                             graph,
                                             needs.empty() ? nullptr : needs.data(),
                                             nullptr,
                                             needs.size(),
                                             cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCaptureToGraph");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (!open_) return;
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    static_cast<void>(cudaGetLastError());
  }
  void end() {
    open_ = false;
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  }

 private:
  cudaStream_t stream_;
  bool open_ = true;
};

}  // namespace

void CudaGraphs::begin_run(const RunRequest& request, std::shared_ptr<KeptGraphs>& kept) {
  constexpr std::size_t most = 64;  // assumed: of the plans that take turns in a measurement
  if (kept == nullptr || kept->handles != handles_) {
    kept = std::make_shared<KeptGraphs>();
    kept->context = context_;
    kept->handles = handles_;
  }
  while (kept->graphs.size() > most) kept->graphs.pop_back();
  for (const auto& [number, lanes] : *handles_) {
    for (const auto& blas : lanes) blas->unbind();
  }
  request_ = &request;
  kept_ = kept.get();
  of_run_.clear();
}

KeptGraphs::Graph& CudaGraphs::graph_of(const GraphRow& row, bool multiplies) {
  KeptGraphs::Graph*& of_run = of_run_[row.graph];
  if (of_run != nullptr) return *of_run;
  const bool timed = request_->timing == TaskTiming::events;
  auto& graphs = kept_->graphs;
  const auto found = std::find_if(graphs.begin(), graphs.end(), [&](const auto& one) {
    return one.number == row.graph && one.timed == timed && one.shape == row.shape;
  });
  if (found != graphs.end()) {
    graphs.splice(graphs.begin(), graphs, found);
    of_run = &graphs.front();
    return *of_run;
  }
  GraphLanes cut = graph_lanes(row.shape);
  auto& handles = (*handles_)[row.graph];
  while (handles.size() < cut.count) {
    handles.push_back(
        std::make_unique<CudaBlas>(*context_->blas, context_->lt.get(), context_->workspace_bytes));
  }
  if (multiplies) {
    for (std::size_t i = 0; i < cut.count; ++i) handles[i]->prepare();
  }
  of_run = &graphs.emplace_front(KeptGraphs::Graph{.number = row.graph,
                                                   .shape = row.shape,
                                                   .timed = timed,
                                                   .lanes = std::move(cut.of),
                                                   .rows = {},
                                                   .done = {}});
  if (row.shape.launch_count() > 1) of_run->done = make_event(false);
  return *of_run;
}

cudaStream_t CudaGraphs::capture_stream(int priority) {
  CudaStream& stream = capture_streams_[priority];
  if (!stream) stream = make_stream(priority);
  return stream.get();
}

CudaGraphs::Parts CudaGraphs::capture(cudaGraph_t graph,
                                      const std::vector<cudaGraphNode_t>& needs,
                                      const GraphRow& row,
                                      std::uint32_t node,
                                      CudaBlas& blas,
                                      CudaWork& work) {
  const cudaStream_t stream = capture_stream(row.priorities[node]);
  Capture capture(stream, graph, needs);
  work.launch(row.shape.task(row.row, node),
              {.stream = stream,
               .blas = blas,
               .capturing = true,
               .stream_number = std::nullopt,
               .programmatic = row.shape.programmatic(node) &&
                               request_->timing != TaskTiming::events});  // one is between
  Parts parts{.all = {}, .last = last_captured(stream)};
  capture.end();
  return parts;
}

void CudaGraphs::add_event(cudaGraph_t graph, Parts& parts, cudaEvent_t event) {
  cudaGraphNode_t made = nullptr;
  check_cuda(
      cudaGraphAddEventRecordNode(
          &made, graph, parts.last.empty() ? nullptr : parts.last.data(), parts.last.size(), event),
      "cudaGraphAddEventRecordNode");
  parts.last = {made};
}

/// Everything behind the last parts that no other node has is the task's own.
void CudaGraphs::own_parts(Parts& parts, std::uint32_t node, Owners& owners) {
  std::vector<cudaGraphNode_t> open = parts.last;
  while (!open.empty()) {
    const cudaGraphNode_t part = open.back();
    open.pop_back();
    if (!owners.emplace(part, node).second) continue;
    parts.all.push_back(part);
    for (const cudaGraphNode_t before : dependencies(part)) open.push_back(before);
  }
}

void CudaGraphs::set_priority(const Parts& parts, int priority) {
  for (const cudaGraphNode_t part : parts.all) {
    if (!is_kernel(part)) continue;
    cudaLaunchAttributeValue value{};
    value.priority = priority;
    check_cuda(cudaGraphKernelNodeSetAttribute(part, cudaLaunchAttributePriority, &value),
               "cudaGraphKernelNodeSetAttribute(priority)");
  }
}

LoadedNode CudaGraphs::read_back(const Parts& parts, std::uint32_t node, const Owners& owners) {
  LoadedNode loaded{.parts = parts.all.size(), .priority = std::nullopt, .needs = {}};
  for (const cudaGraphNode_t part : parts.all) {
    for (const cudaGraphNode_t before : dependencies(part)) {
      const std::uint32_t owner = owners.at(before);
      if (owner != node) loaded.needs.push_back(owner);
    }
    if (!is_kernel(part)) continue;
    cudaLaunchAttributeValue value{};
    check_cuda(cudaGraphKernelNodeGetAttribute(part, cudaLaunchAttributePriority, &value),
               "cudaGraphKernelNodeGetAttribute(priority)");
    loaded.priority = value.priority;
  }
  std::sort(loaded.needs.begin(), loaded.needs.end());
  loaded.needs.erase(std::unique(loaded.needs.begin(), loaded.needs.end()), loaded.needs.end());
  return loaded;
}

KeptGraphs::Row CudaGraphs::make(const GraphRow& row,
                                 const KeptGraphs::Graph& graph,
                                 CudaWork& work,
                                 LaunchObserver* observer) {
  cudaGraph_t made = nullptr;
  check_cuda(cudaGraphCreate(&made, 0), "cudaGraphCreate");
  KeptGraphs::Row result{
      .priorities = row.priorities, .graph = CudaGraph(made), .exec = {}, .nodes = {}};
  const auto& handles = handles_->at(row.graph);
  std::vector<Parts> parts;
  Owners owners;
  for (std::uint32_t node = 0; node < row.shape.node_count(); ++node) {
    const TaskId task = row.shape.task(row.row, node);
    const TaskEvents* const events = graph.timed ? &kept_->events[task.value()] : nullptr;
    Parts ends;
    for (const std::uint32_t need : row.shape.needs(node)) {
      ends.last.insert(ends.last.end(), parts[need].last.begin(), parts[need].last.end());
    }
    std::sort(ends.last.begin(), ends.last.end());
    ends.last.erase(std::unique(ends.last.begin(), ends.last.end()), ends.last.end());
    if (observer != nullptr) observer->before_node(task, row.graph, node);
    try {
      if (events != nullptr) add_event(made, ends, events->started.get());
      ends = capture(made, ends.last, row, node, *handles[graph.lanes[node]], work);
      if (events != nullptr) add_event(made, ends, events->ended.get());
      own_parts(ends, node, owners);
      set_priority(ends, row.priorities[node]);
      result.nodes.push_back(read_back(ends, node, owners));
    } catch (const DeviceError& error) {
      throw DeviceError(fmt::format("graph {}, node {} (task {}): {}",
                                    row.graph,
                                    node,
                                    request_->graph.name(task),
                                    error.what()));
    }
    if (observer != nullptr) observer->after_node(task, row.graph, node);
    parts.push_back(std::move(ends));
  }
  cudaGraphExec_t exec = nullptr;
  unsigned long long flags = 0;
  if (row.shape.node_priorities) flags = cudaGraphInstantiateFlagUseNodePriority;
  check_cuda(cudaGraphInstantiate(&exec, made, flags), "cudaGraphInstantiate");
  result.exec = CudaGraphExec(exec);
  const cudaStream_t stream = capture_stream(context_->properties.least_priority);
  check_cuda(cudaGraphUpload(exec, stream), "cudaGraphUpload");
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return result;
}

std::vector<LoadedNode> CudaGraphs::load(const GraphRow& row,
                                         CudaWork& work,
                                         LaunchObserver* observer) {
  KeptGraphs::Graph& graph = graph_of(row, work.multiplies());
  const auto found = graph.rows.find(row.row);
  if (observer == nullptr && found != graph.rows.end() &&
      found->second.priorities == row.priorities) {
    return found->second.nodes;
  }
  return (graph.rows[row.row] = make(row, graph, work, observer)).nodes;
}

void CudaGraphs::launch(cudaStream_t stream, std::uint32_t graph, std::uint32_t row) {
  const KeptGraphs::Graph& launched = *of_run_.at(graph);
  // An event that was never recorded delays no wait.
  if (launched.done) {
    check_cuda(cudaStreamWaitEvent(stream, launched.done.get(), 0), "cudaStreamWaitEvent");
  }
  check_cuda(cudaGraphLaunch(launched.rows.at(row).exec.get(), stream), "cudaGraphLaunch");
  if (launched.done) {
    check_cuda(cudaEventRecord(launched.done.get(), stream), "cudaEventRecord");
  }
}

}  // namespace schedlab::detail
