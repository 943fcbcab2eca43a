// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/byte_source.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace schedlab {

/// Files of other programs that hold a task graph.
enum class ForeignFormat : std::uint8_t {
  none,
  execution_trace,  ///< of PyTorch's ExecutionTraceObserver, also as Chakra's schema 1.0.2
  chakra_graph,     ///< {"workload_graph": [{"Id", "Name", "data_deps", "runtime", ...}]}
  chakra_binary,    ///< Chakra's protobuf: messages behind their lengths
  wfformat,         ///< of WfCommons, schema 1.2 to 1.5
  profile,          ///< a Kineto trace: no graph, but it can be imported
  own_trace,        ///< trace.json of a run of ours: likewise
};
[[nodiscard]] std::string_view to_string(ForeignFormat format);

/// By the keys of the outermost object; none for what is neither a JSON object nor chakra_binary,
/// or our own. Throws InputError for an object that ends early or is damaged if it has the first
/// keys of a known format; what else is damaged is none.
[[nodiscard]] ForeignFormat foreign_format(std::string_view text, const std::string& file);
/// The same of what may be larger than the memory: reads only as far as it must.
[[nodiscard]] ForeignFormat foreign_format(ByteSource& source, const std::string& file);

/// A graph with what was odd about it.
struct ForeignGraph {
  ForeignFormat format = ForeignFormat::none;
  TaskGraph graph;
  Diagnostics problems;  ///< counted, not thrown
};

/// Reads a graph that another program wrote; docs/import.md says what becomes of which field.
///
/// Errors  InputError for `none` and `profile`, for what is no JSON, for a graph without a task,
///         with a cycle (its tasks are named), or with sizes and times beyond those of graph files.
/// Cost    O(bytes); memory a few times the bytes.
[[nodiscard]] ForeignGraph read_foreign_graph(std::string_view text, const std::string& file);
/// The same from a file, plain or gzip.
[[nodiscard]] ForeignGraph read_foreign_graph(const std::filesystem::path& path);

}  // namespace schedlab
