// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// The graph for Graphviz: vertices coloured by operation, labelled with the tasks' names, top to
/// bottom. Readable up to some hundred tasks. Operation, kind, class, kernels, durations and tags
/// are attributes, so that read_dot gives the graph again, but for its tensors. Written by
/// Boost.Graph.
[[nodiscard]] std::string write_dot(const TaskGraph& graph);

/// A graph in the DOT language: nodes are tasks in the order in which they are first named, edges
/// dependencies. Attributes of a node, all optional: name or label (else its id), operation, kind,
/// class, duration_us, operation_duration_us, kernels (as in the compact text form, separated by
/// semicolons) or one kernel by data_type, m, n, k, flops, bytes_read, bytes_written; layer, step,
/// stage, microbatch. All other attributes are Graphviz's and ignored. Not numbered topologically
/// in general. Throws InputError naming file, line, what was found and what was expected. Cost
/// O(bytes + edges); subgraphs as ends of edges may make at most 8 edges per byte and 10^6. Source:
/// the DOT language, graphviz.org/doc/info/lang.html, without HTML strings.
[[nodiscard]] TaskGraph read_dot(std::string_view text, const std::string& file);
/// Does a text begin like one in the DOT language?
[[nodiscard]] bool is_dot(std::string_view text);

/// The graph as GraphML, for network tools: name, operation, kind, class, layer, step, FLOPs, bytes
/// and duration_us are attributes of the nodes. Written by Boost.Graph.
[[nodiscard]] std::string write_graphml(const TaskGraph& graph);

}  // namespace schedlab
