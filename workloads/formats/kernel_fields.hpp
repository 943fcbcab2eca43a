// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace schedlab::detail {

/// What graph files say of a kernel, in their order, laid out as a format string with eight places.
inline void append_kernel(std::string& out, const Kernel& kernel, fmt::string_view layout) {
  fmt::format_to(std::back_inserter(out),
                 fmt::runtime(layout),
                 to_string(kernel.kind),
                 to_string(kernel.type),
                 kernel.m,
                 kernel.n,
                 kernel.k,
                 kernel.flops.count(),
                 kernel.bytes_read.count(),
                 kernel.bytes_written.count());
}

/// The mark of a copy of pageable memory; nothing for all other kernels.
inline void append_pageable(std::string& out, const Kernel& kernel, std::string_view mark) {
  if (kernel.pageable) out += mark;
}

/// The grid that a kernel is launched with, laid out with five places; nothing if it is left to the
/// cost model.
inline void append_grid(std::string& out, const KernelGrid& grid, fmt::string_view layout) {
  if (grid == KernelGrid{}) return;
  fmt::format_to(std::back_inserter(out),
                 fmt::runtime(layout),
                 grid.blocks,
                 grid.block.threads,
                 grid.block.registers,
                 grid.block.shared_memory,
                 grid.compute_share);
}

/// The shape of attention, laid out with six places; nothing for all other kernels.
inline void append_attention(std::string& out,
                             const AttentionShape& shape,
                             fmt::string_view layout) {
  if (shape == AttentionShape{}) return;
  fmt::format_to(std::back_inserter(out),
                 fmt::runtime(layout),
                 shape.sequences,
                 shape.queries,
                 shape.keys,
                 shape.heads,
                 shape.kv_heads,
                 shape.head);
}

}  // namespace schedlab::detail
