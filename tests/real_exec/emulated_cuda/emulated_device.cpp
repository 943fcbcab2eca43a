// SPDX-License-Identifier: Apache-2.0
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"

#include "tests/real_exec/emulated_cuda/emulated_state.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace schedlab::testing {

EmulatedState& emulated_state() {
  static EmulatedState state;
  return state;
}

cudaStream_t emulated_stream(cudaStream_t stream) {
  static CUstream_st legacy;
  return stream == nullptr || stream == cudaStreamLegacy ? &legacy : stream;
}

std::size_t EmulatedState::add(std::function<void()> piece, std::vector<std::size_t> needs) {
  work.push_back({.work = std::move(piece), .needs = std::move(needs)});
  return work.size();
}

void EmulatedState::run_one() {
  std::vector<std::size_t> ready;
  for (std::size_t i = first_open; i < work.size(); ++i) {
    const auto& needs = work[i].needs;
    if (!work[i].done && std::all_of(needs.begin(), needs.end(), [&](std::size_t need) {
          return need == 0 || work[need - 1].done;
        })) {
      ready.push_back(i);
    }
  }
  if (ready.empty()) return;
  EmulatedWork& chosen = work[ready[rng.below(ready.size())]];
  if (fails == 0) lost = true;
  if (fails >= 0) --fails;
  if (!lost && chosen.work) chosen.work();
  chosen.done = true;
  ++done;
  while (first_open < work.size() && work[first_open].done) ++first_open;
}

void EmulatedState::run_until(std::size_t number) {
  const auto reached = [&] {
    return number == 0 ? first_open == work.size() : work[number - 1].done;
  };
  while (!reached()) run_one();
}

void enqueue(cudaStream_t given, std::function<void()> work, bool is_kernel) {
  const cudaStream_t stream = emulated_stream(given);
  EmulatedState& state = emulated_state();
  if (stream->graph != nullptr) {
    auto node = std::make_unique<CUgraphNode_st>();
    node->work = std::move(work);
    node->needs = stream->captured;
    node->is_kernel = is_kernel;
    node->priority = stream->priority;
    stream->captured = {node.get()};
    stream->graph->nodes.push_back(std::move(node));
    return;
  }
  if (is_kernel) state.stream_units.insert(stream->units);
  stream->last = state.add(std::move(work), {stream->last});
  // Streams do not block; the legacy default stream is used with the device idle only.
  if (stream == emulated_stream(nullptr)) state.run_until(0);
}

void set_emulated_order(std::uint64_t seed) {
  emulated_state().rng = Rng{seed};
}

void round_emulated_tf32(bool to_nearest) {
  emulated_state().tf32_rounds = to_nearest;
}

void fail_emulated_work(std::int64_t number) {
  emulated_state().fails = number;
  if (number < 0) emulated_state().lost = false;
}

std::uint64_t emulated_streams_made() {
  return emulated_state().streams_made;
}

void count_programmatic_launch() {
  ++emulated_state().programmatic_launches;
}

std::uint64_t emulated_programmatic_launches() {
  return emulated_state().programmatic_launches;
}

std::uint64_t emulated_graphs_made() {
  return emulated_state().graphs_made;
}

std::set<int> emulated_product_units() {
  return std::exchange(emulated_state().product_units, {});
}

void set_emulated_green_contexts(bool there_are) {
  emulated_state().green_contexts = there_are;
}

std::uint32_t emulated_green_contexts() {
  return emulated_state().green_contexts_now;
}

std::set<std::uint32_t> emulated_stream_units() {
  return std::exchange(emulated_state().stream_units, {});
}

std::uint64_t emulated_work_done() {
  return emulated_state().done;
}

}  // namespace schedlab::testing

using schedlab::testing::emulated_state;
using schedlab::testing::emulated_stream;
using schedlab::testing::enqueue;

namespace {

cudaError_t result() {
  return emulated_state().lost ? cudaErrorIllegalAddress : cudaSuccess;
}

constexpr int nan_byte = 0xFF;

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  return result();
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorEmulated";
}
const char* cudaGetErrorString(cudaError_t /*error*/) {
  return "emulated";
}
cudaError_t cudaSetDevice(int /*device*/) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  emulated_state().run_until(0);
  return result();
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, nan_byte, bytes);
  return result();
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return result();
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  emulated_state().run_until(0);
  std::memcpy(to, from, bytes);
  return result();
}
cudaError_t cudaMemcpy2D(void* to,
                         std::size_t to_pitch,
                         const void* from,
                         std::size_t from_pitch,
                         std::size_t width,
                         std::size_t height,
                         cudaMemcpyKind /*kind*/) {
  emulated_state().run_until(0);
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                static_cast<const std::byte*>(from) + row * from_pitch,
                width);
  }
  return result();
}
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  emulated_state().run_until(0);
  std::memset(memory, byte, bytes);
  return result();
}
cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  enqueue(
      stream, [=] { std::memset(memory, byte, bytes); }, false);
  return result();
}
cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  enqueue(
      stream, [=] { std::memcpy(to, from, bytes); }, false);
  return result();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned /*flags*/, int priority) {
  *stream = new CUstream_st{};  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  (*stream)->priority = priority;
  ++emulated_state().streams_made;
  return result();
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return result();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::size_t last = emulated_stream(stream)->last;
  if (last > 0) emulated_state().run_until(last);
  return result();
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::size_t last = emulated_stream(stream)->last;
  auto& state = emulated_state();
  if (last == 0 || state.work[last - 1].done) return result();
  state.run_one();  // time goes by
  return state.work[last - 1].done ? result() : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t given, cudaEvent_t event, unsigned /*flags*/) {
  const cudaStream_t stream = emulated_stream(given);
  stream->last = emulated_state().add({}, {stream->last, event->recorded});
  return result();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{};  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  (*event)->timing = (flags & cudaEventDisableTiming) == 0;
  return result();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;  // NOLINT(cppcoreguidelines-owning-memory): an opaque handle
  return result();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t given) {
  const cudaStream_t stream = emulated_stream(given);
  if (event->timing) {
    enqueue(
        given, [event] { event->ended_us = static_cast<double>(emulated_state().done); }, false);
  }
  event->recorded = stream->last;
  return result();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->recorded > 0) emulated_state().run_until(event->recorded);
  return result();
}
/// Time is the number of pieces of work that are done, in microseconds.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  if (!from->timing || !to->timing) return cudaErrorInvalidResourceHandle;
  *ms = static_cast<float>((to->ended_us - from->ended_us) / 1000);
  return result();
}

}  // extern "C"
