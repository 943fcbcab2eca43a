// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <string>

namespace schedlab {

/// The graph for Graphviz: vertices coloured by operation, labelled with the tasks' names, top to
/// bottom. Readable up to some hundred tasks. Written by Boost.Graph.
[[nodiscard]] std::string write_dot(const TaskGraph& graph);

/// The graph as GraphML, for network tools: name, operation, kind, class, layer, step, FLOPs, bytes
/// and duration_us are attributes of the nodes. Written by Boost.Graph.
[[nodiscard]] std::string write_graphml(const TaskGraph& graph);

}  // namespace schedlab
