// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Reads a file of the Standard Task Graph Set: the number n of tasks, then n + 2 lines (an entry
/// and an exit of weight 0 are added by the set), each `id weight predecessor_count
/// predecessor...`; "#" starts the comments at the end. One unit of weight becomes 1 us. Entry and
/// exit are kept, so that ids are those of the file. Tasks are of kind fixed and named after the
/// file's ids.
///
/// Errors  InputError with the line. The variant with communication costs (pairs of predecessor and
/// cost) is
///         refused: here a transfer is a task.
/// Cost    O(length of the text).
/// Source  Tobita and Kasahara, J. Scheduling 5(5), 2002, doi 10.1002/jos.116.
[[nodiscard]] TaskGraph read_stg(std::string_view text, const std::string& file);

}  // namespace schedlab
