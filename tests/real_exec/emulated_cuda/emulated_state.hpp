// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/rng.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

// The run-time's opaque types.

struct CUgraphNode_st {
  std::function<void()> work;
  std::vector<cudaGraphNode_t> needs;
  bool is_kernel = false;
  int priority = 0;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<CUgraphNode_st> nodes;
  std::vector<std::vector<std::size_t>> needs;  // indices of nodes
  bool node_priorities = false;
};
struct CUstream_st {
  int priority = 0;
  std::uint32_t units = 0;      // of its green context; 0: all
  std::size_t last = 0;         // number of the latest piece of work + 1; 0: none
  cudaGraph_t graph = nullptr;  // being captured into
  std::vector<cudaGraphNode_t> captured;
};
struct CUevent_st {
  std::size_t recorded = 0;  // as CUstream_st::last
  bool timing = false;
  double ended_us = 0;
};

namespace schedlab::testing {

/// One piece of work that was put into a stream.
struct EmulatedWork {
  std::function<void()> work;
  std::vector<std::size_t> needs;  // numbers of pieces
  bool done = false;
};

struct EmulatedState {
  std::vector<EmulatedWork> work;
  std::size_t first_open = 0;  // all before are done
  Rng rng{1};
  std::int64_t fails = -1;
  bool lost = false;  // a piece of work has crashed
  std::uint64_t done = 0;
  std::uint64_t streams_made = 0;
  std::uint64_t graphs_made = 0;
  std::uint64_t programmatic_launches = 0;
  cudaError_t last_error = cudaSuccess;
  bool green_contexts = true;            // the driver has them
  std::uint32_t green_contexts_now = 0;  // that exist
  std::set<std::uint32_t> stream_units;  // of streams that work was put into
  std::set<int> product_units;           // that libraries were told to use, 0: all
  bool tf32_rounds = false;  // factors to the nearest; else what does not fit is dropped

  std::size_t add(std::function<void()> work, std::vector<std::size_t> needs);
  /// Does pieces in a random order until the one with this number (0: all) is done.
  void run_until(std::size_t number);
  /// Does one piece that can be done.
  void run_one();
};
[[nodiscard]] EmulatedState& emulated_state();

/// The stream, or that of the legacy default stream.
[[nodiscard]] cudaStream_t emulated_stream(cudaStream_t stream);

}  // namespace schedlab::testing
