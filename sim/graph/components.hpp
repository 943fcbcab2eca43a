// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// From, to. Plain numbers: edge lists that are not (yet) a TaskGraph may have cycles.
using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// Strongly connected components of the vertices 0..vertex_count-1.
///
/// Result   one component number per vertex; edges between components go from higher to lower
/// numbers. Errors   ContractViolation for an edge to a vertex that does not exist.    Cost
/// O(vertices + edges). Source   Tarjan, SIAM J. Computing 1(2), 1972, doi 10.1137/0201010
/// (Boost.Graph); not recursive.
[[nodiscard]] std::vector<std::uint32_t> strong_components(std::size_t vertex_count,
                                                           const std::vector<Edge>& edges);

/// Some cycle as vertices in order, each with an edge to the next and the last one to the first;
/// empty if there is none. Deterministic; a shortest cycle through the lowest vertex that is on any
/// cycle.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(std::size_t vertex_count,
                                                    const std::vector<Edge>& edges);

/// "a -> b -> a"; the middle of a cycle of more than 12 is left out and counted.
[[nodiscard]] std::string print_cycle(const std::vector<std::uint32_t>& cycle,
                                      const std::function<std::string(std::size_t)>& name);

}  // namespace schedlab
