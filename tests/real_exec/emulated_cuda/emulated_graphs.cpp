// SPDX-License-Identifier: Apache-2.0
#include "tests/real_exec/emulated_cuda/emulated_state.hpp"

#include <algorithm>
#include <cstring>
#include <map>

using schedlab::testing::emulated_state;
using schedlab::testing::emulated_stream;

namespace {

const cudaGraphEdgeData plain_edge{};

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned /*flags*/) {
  *graph = new CUgraph_st{};  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream,
                                          cudaGraph_t graph,
                                          const cudaGraphNode_t* needs,
                                          const cudaGraphEdgeData* /*edges*/,
                                          std::size_t count,
                                          cudaStreamCaptureMode /*mode*/) {
  if (stream->graph != nullptr) return cudaErrorIllegalState;
  stream->graph = graph;
  stream->captured.assign(needs, needs + count);
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* /*mode*/) {
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus* status,
                                     unsigned long long* /*id*/,
                                     cudaGraph_t* /*graph*/,
                                     const cudaGraphNode_t** nodes,
                                     const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  *status = stream->graph == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  *nodes = stream->captured.data();
  *edges = &plain_edge;
  *count = stream->captured.size();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (stream->graph == nullptr) return cudaErrorIllegalState;
  *graph = stream->graph;
  stream->graph = nullptr;
  stream->captured.clear();
  return cudaSuccess;
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* made,
                                        cudaGraph_t graph,
                                        const cudaGraphNode_t* needs,
                                        std::size_t count,
                                        cudaEvent_t event) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->work = [event] { event->ended_us = static_cast<double>(emulated_state().done); };
  node->needs.assign(needs, needs + count);
  *made = node.get();
  graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                         cudaGraphNode_t* needs,
                                         cudaGraphEdgeData* edges,
                                         std::size_t* count) {
  if (needs != nullptr) {
    if (*count < node->needs.size() || edges == nullptr) return cudaErrorInvalidValue;
    std::copy(node->needs.begin(), node->needs.end(), needs);
    std::fill_n(edges, node->needs.size(), plain_edge);
  }
  *count = node->needs.size();
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->is_kernel ? cudaGraphNodeTypeKernel : cudaGraphNodeTypeMemcpy;
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node,
                                            cudaLaunchAttributeID id,
                                            const cudaLaunchAttributeValue* value) {
  if (!node->is_kernel || id != cudaLaunchAttributePriority) return cudaErrorInvalidValue;
  node->priority = value->priority;
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node,
                                            cudaLaunchAttributeID id,
                                            cudaLaunchAttributeValue* value) {
  if (!node->is_kernel || id != cudaLaunchAttributePriority) return cudaErrorInvalidValue;
  value->priority = node->priority;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made,
                                 cudaGraph_t graph,
                                 unsigned long long flags) {
  auto exec = std::make_unique<CUgraphExec_st>();
  exec->node_priorities = (flags & cudaGraphInstantiateFlagUseNodePriority) != 0;
  std::map<cudaGraphNode_t, std::size_t> number;
  for (const auto& node : graph->nodes) {
    number.emplace(node.get(), exec->nodes.size());
    exec->nodes.push_back(*node);
    auto& needs = exec->needs.emplace_back();
    for (const cudaGraphNode_t need : node->needs) needs.push_back(number.at(need));
  }
  *made = exec.release();
  ++emulated_state().graphs_made;
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t /*exec*/, cudaStream_t /*stream*/) {
  return cudaSuccess;
}
/// Behind the stream, as one piece of it; nodes among themselves by their needs only.
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t given) {
  const cudaStream_t stream = emulated_stream(given);
  auto& state = emulated_state();
  std::vector<std::size_t> pieces;
  for (std::size_t i = 0; i < exec->nodes.size(); ++i) {
    std::vector<std::size_t> needs{stream->last};
    for (const std::size_t need : exec->needs[i]) needs.push_back(pieces[need]);
    pieces.push_back(state.add(exec->nodes[i].work, std::move(needs)));
  }
  pieces.push_back(stream->last);
  stream->last = state.add({}, std::move(pieces));
  return cudaSuccess;
}

}  // extern "C"
