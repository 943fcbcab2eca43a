// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab {

/// Shape of a random graph in layers.
struct RandomLayeredSpec {
  std::uint64_t seed = 1;
  std::int64_t layers = 10;
  std::int64_t width = 10;        ///< tasks in each layer
  double edge_probability = 0.3;  ///< of each pair of tasks in neighbouring layers
  Duration shortest{1'000'000};
  Duration longest{10'000'000};
  double critical_share = 0.5;  ///< of tasks whose class is critical
};

/// Random tasks in layers, the same for equal specs on every machine. Durations are uniform over
/// [shortest, longest] in picoseconds; a task that drew no edge from the layer before gets one, so
/// that only layer 0 has entries. Each task is of kind fixed, tagged with its layer. Cost O(layers
/// * width^2). Throws ContractViolation for a size below 1, a probability or a share outside [0, 1]
/// or an empty range, InfeasibleError above 10^9 pairs. Source: the layer-by-layer method of Tobita
/// and Kasahara, J. Scheduling 5(5), 2002, doi 10.1002/jos.116.
[[nodiscard]] TaskGraph random_layered(const RandomLayeredSpec& spec);

}  // namespace schedlab
