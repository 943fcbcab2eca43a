// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

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

}  // namespace schedlab::detail
