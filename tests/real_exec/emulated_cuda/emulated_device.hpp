// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <set>

namespace schedlab::testing {

// A CUDA device in memory of the host, behind the names of the run-time: what backend and works ask
// of a device is done, on the processor, so that their logic is tested where there is no device.
// Work that nothing orders is done in a random order, one piece at a time; new memory holds NaNs.
// What it says nothing of: speed, code for devices, and whether NVIDIA's libraries agree.

/// Puts a piece of work into a stream, or into the graph that is being captured from it.
void enqueue(cudaStream_t stream, std::function<void()> work, bool is_kernel);

/// The order in which unordered work is done from now on.
void set_emulated_order(std::uint64_t seed);
/// Whether products in tf32 round their factors to the nearest, or drop what does not fit (at
/// first).
void round_emulated_tf32(bool to_nearest);
/// Fails the piece of work with this number from now, counted from 0, as a kernel that crashes
/// does: the error shows at a later call, and stays. -1: none, and the error is gone.
void fail_emulated_work(std::int64_t number);
/// Streams and executable graphs that have been made since the start.
[[nodiscard]] std::uint64_t emulated_streams_made();
[[nodiscard]] std::uint64_t emulated_graphs_made();
/// The numbers of multiprocessors that products were told to use since the last call, 0: all.
[[nodiscard]] std::set<int> emulated_product_units();
/// Has the driver green contexts? At first yes, of two multiprocessors or a multiple.
void set_emulated_green_contexts(bool there_are);
[[nodiscard]] std::uint32_t emulated_green_contexts();
/// The units of the green contexts of streams that kernels were put into since the last call, 0: no
/// such context.
[[nodiscard]] std::set<std::uint32_t> emulated_stream_units();
/// Kernels of ours that were launched programmatically, since the start.
void count_programmatic_launch();
[[nodiscard]] std::uint64_t emulated_programmatic_launches();
/// Pieces of work that have been done since the start.
[[nodiscard]] std::uint64_t emulated_work_done();

}  // namespace schedlab::testing
