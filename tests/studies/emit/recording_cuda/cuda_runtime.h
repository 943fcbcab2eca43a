// SPDX-License-Identifier: Apache-2.0
#pragma once

// A CUDA run-time of one header for emitted programs: compiled as plain C++, they write down each
// call of the host (to the file that RECORDING names) and do their work on the processor, at once
// and in the order of the calls; work in graphs when these are launched. With SKIP_WORK nothing is
// computed.

#include <ucontext.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define CUDART_VERSION 13000

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorNotReady };
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaDeviceAttr {
  cudaDevAttrClockRate,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerBlockOptin
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaDataType { CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F, CUDA_R_64F };
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
constexpr unsigned cudaDeviceScheduleSpin = 1, cudaInitDeviceFlagsAreValid = 1;
constexpr unsigned long long cudaGraphInstantiateFlagUseNodePriority = 8;

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct float4 {
  float x, y, z, w;
};
struct cudaDeviceProp {
  const char* name = "recording";
  int major = 9;
};
struct cudaGraphEdgeData {};

namespace recording {

struct Graph;
struct Node {
  std::function<void()> work;
  std::vector<Node*> needs;
  std::size_t number = 0;
};
struct Graph {
  int number = 0;
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Stream {
  int number = 0;
  int priority = 0;
  Graph* into = nullptr;
  std::vector<Node*> last;
};
struct Event {
  int number = 0;
};
struct Executable {
  int number = 0;
  std::vector<std::function<void()>> work;
};

struct State {
  std::FILE* file = nullptr;
  std::vector<std::string> ranges;
  int streams = 0, events = 0, graphs = 0, executables = 0;
  Stream legacy{-1};
};
inline State& state() {
  static State made;
  if (made.file == nullptr) {
    const char* const name = std::getenv("RECORDING");
    made.file = std::fopen(name == nullptr ? "/dev/null" : name, "w");
  }
  return made;
}
template <class... Values>
void note(const char* format, Values... values) {
  std::fprintf(state().file, format, values...);
  std::fputc('\n', state().file);
}
inline const char* range() {
  return state().ranges.empty() ? "" : state().ranges.back().c_str();
}
inline Stream* of(Stream* stream) {
  return stream == nullptr ? &state().legacy : stream;
}

/// One piece of work in a stream.
inline void put(Stream* given, std::function<void()> work) {
#ifdef SKIP_WORK
  work = [] {};
#endif
  Stream* const stream = of(given);
  if (stream->into == nullptr) {
    note("piece %d %s", stream->number, range());
    return work();
  }
  auto node = std::make_unique<Node>();
  node->work = std::move(work);
  node->needs = stream->last;
  node->number = stream->into->nodes.size();
  std::string needs;
  for (const Node* need : node->needs) needs += " " + std::to_string(need->number);
  note("node %d %d%s | %s", stream->into->number, stream->priority, needs.c_str(), range());
  stream->last = {node.get()};
  stream->into->nodes.push_back(std::move(node));
}

// Threads of a block are contexts of their own, which go on in turn at __syncthreads(); where the
// first block has none, those of other blocks run one after another.
struct Block {
  std::vector<ucontext_t> contexts;
  std::vector<std::vector<char>> stacks;
  std::vector<char> ended;
  ucontext_t main{};
  std::size_t current = 0;
  bool synchronizes = false;
  const std::function<void()>* thread = nullptr;
};
inline Block& block() {
  static Block made;
  return made;
}
inline dim3 grid_dim, block_dim;
inline uint3 block_idx, thread_idx;

inline void thread_main() {
  (*block().thread)();
  block().ended[block().current] = 1;
  swapcontext(&block().contexts[block().current], &block().main);
}
inline uint3 place(std::size_t thread) {
  const auto i = static_cast<unsigned>(thread);
  return {i % block_dim.x, i / block_dim.x, 0};
}
inline void run_block(std::size_t threads) {
  Block& b = block();
  constexpr std::size_t stack = std::size_t{64} << 10U;
  b.contexts.resize(threads);
  while (b.stacks.size() < threads) b.stacks.emplace_back(stack);
  b.ended.assign(threads, 0);
  for (std::size_t i = 0; i < threads; ++i) {
    getcontext(&b.contexts[i]);
    b.contexts[i].uc_stack.ss_sp = b.stacks[i].data();
    b.contexts[i].uc_stack.ss_size = stack;
    b.contexts[i].uc_link = nullptr;
    makecontext(&b.contexts[i], thread_main, 0);
  }
  for (bool open = true; open;) {
    open = false;
    for (std::size_t i = 0; i < threads; ++i) {
      if (b.ended[i] != 0) continue;
      b.current = i;
      thread_idx = place(i);
      swapcontext(&b.main, &b.contexts[i]);
      open = open || b.ended[i] == 0;
    }
  }
}
inline void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& thread) {
  grid_dim = blocks;
  block_dim = threads;
  Block& b = block();
  b.thread = &thread;
  b.synchronizes = false;
  const std::size_t all = std::size_t{threads.x} * threads.y;
  for (unsigned i = 0; i < blocks.x * blocks.y; ++i) {
    block_idx = {i % blocks.x, i / blocks.x, 0};
    if (i == 0 || b.synchronizes) {
      run_block(all);
      continue;
    }
    for (std::size_t t = 0; t < all; ++t) {
      thread_idx = place(t);
      thread();
    }
  }
}

}  // namespace recording

inline dim3 &gridDim = recording::grid_dim, &blockDim = recording::block_dim;
inline uint3 &blockIdx = recording::block_idx, &threadIdx = recording::thread_idx;

inline void __syncthreads() {
  recording::Block& b = recording::block();
  b.synchronizes = true;
  const uint3 mine = recording::thread_idx;
  swapcontext(&b.contexts[b.current], &b.main);
  recording::thread_idx = mine;
}
inline long long clock64() {
  static long long time = 0;
  return time += 1000000000;
}

using cudaStream_t = recording::Stream*;
using cudaEvent_t = recording::Event*;
using cudaGraph_t = recording::Graph*;
using cudaGraphNode_t = recording::Node*;
using cudaGraphExec_t = recording::Executable*;
constexpr cudaStream_t cudaStreamLegacy = nullptr;

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id{};
  struct {
    int programmaticStreamSerializationAllowed = 0;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                               void (*kernel)(Params...),
                               const Args&... args) {
  const dim3 blocks = config->gridDim;
  const dim3 threads = config->blockDim;
  if (blocks.x == 0 || threads.x == 0 || threads.x * threads.y > 1024) return cudaErrorInvalidValue;
  if (config->numAttrs != 0 && config->attrs->val.programmaticStreamSerializationAllowed != 0) {
    recording::note("programmatic");
  }
  recording::put(config->stream,
                 [=] { recording::run_grid(blocks, threads, [=] { kernel(args...); }); });
  return cudaSuccess;
}

inline const char* cudaGetErrorString(cudaError_t /*error*/) {
  return "recording";
}
inline cudaError_t cudaInitDevice(int, unsigned, unsigned) {
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrMultiProcessorCount ? 4 : 100000;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}

template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  *memory = static_cast<T*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
#ifndef SKIP_WORK
  std::memset(static_cast<void*>(*memory), 0xFF, bytes);
#endif
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
#ifndef SKIP_WORK
  std::memset(to, byte, bytes);
#endif
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
#ifndef SKIP_WORK
  std::memcpy(to, from, bytes);
#endif
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  recording::put(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream,
                                                unsigned flags,
                                                int priority) {
  *stream = new recording::Stream{recording::state().streams++, priority};
  recording::note("create_stream %d %d %u", (*stream)->number, priority, flags);
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  recording::note("destroy_stream %d", stream->number);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  recording::note("synchronize_stream %d", recording::of(stream)->number);
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  recording::note("query %d", recording::of(stream)->number);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  recording::note("synchronize");
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new recording::Event{recording::state().events++};
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  recording::note("record %d %d", recording::of(stream)->number, event->number);
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  recording::note("wait %d %d", recording::of(stream)->number, event->number);
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  recording::note("synchronize_event %d", event->number);
  return cudaSuccess;
}

inline cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new recording::Graph{recording::state().graphs++, {}};
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream,
                                                 cudaGraph_t graph,
                                                 const cudaGraphNode_t* needs,
                                                 const cudaGraphEdgeData*,
                                                 std::size_t count,
                                                 cudaStreamCaptureMode) {
  if (stream->into != nullptr) return cudaErrorInvalidValue;
  stream->into = graph;
  stream->last.assign(needs, needs + count);
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                            cudaStreamCaptureStatus* status,
                                            unsigned long long*,
                                            cudaGraph_t*,
                                            const cudaGraphNode_t** nodes,
                                            const cudaGraphEdgeData**,
                                            std::size_t* count) {
  *status = cudaStreamCaptureStatusActive;
  *nodes = stream->last.data();
  *count = stream->last.size();
  return cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->into;
  stream->into = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made,
                                        cudaGraph_t graph,
                                        unsigned long long flags) {
  *made = new recording::Executable{recording::state().executables++, {}};
  for (const auto& node : graph->nodes) (*made)->work.push_back(node->work);
  recording::note("instantiate %d %llu", (*made)->number, flags);
  return cudaSuccess;
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  recording::note("graph_launch %d %d", recording::of(stream)->number, exec->number);
  for (const auto& work : exec->work) work();
  return cudaSuccess;
}
