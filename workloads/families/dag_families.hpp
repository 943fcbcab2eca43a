// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>

namespace schedlab {

/// Durations of a graph whose shape is given. All draws come from one seed and are the same on
/// every machine.
struct DagWeights {
  std::uint64_t seed = 1;
  Duration mean{10'000'000};  ///< of a task of relative weight 1
  /// Durations are uniform over weight * mean * [1 - heterogeneity, 1 + heterogeneity].
  double heterogeneity = 0.5;
  /// Communication-to-computation ratio. Above 0 each edge is a transfer task of its own, of
  /// duration uniform over ccr * mean * [1 - heterogeneity, 1 + heterogeneity].
  double ccr = 0;
};

// Families of graphs of the scheduling literature. Tasks are of kind fixed and unclassified
// (transfers: class transfer), tagged with layer and step as below. Counts are those without
// transfers; with them there are E more tasks and E more edges. Each throws ContractViolation for a
// size out of its range and InfeasibleError for a graph of more than 10^8 tasks or edges.

/// `tasks` numbered tasks, an edge from each to each later one with `probability`: n (n - 1) / 2 *
/// p edges on average. No tags. Cost O(tasks + edges). Source: Erdos and Renyi, Publ. Math.
/// Debrecen 6, 1959 (G(n, p)); drawn by skipping, Batagelj and Brandes, Phys. Rev. E 71, 2005.
[[nodiscard]] TaskGraph erdos_renyi(std::int64_t tasks,
                                    double probability,
                                    const DagWeights& weights);

/// `stages` times: a task, `width` tasks after it, then the next one after all of them. stages *
/// (width + 1) + 1 tasks, 2 * stages * width edges. Layer: stage; step: branch.
[[nodiscard]] TaskGraph fork_join(std::int64_t stages,
                                  std::int64_t width,
                                  const DagWeights& weights);

/// Right-looking Cholesky factorisation of tiles x tiles tiles (lower part): n potrf, n (n - 1) / 2
/// trsm and as many syrk, C(n, 3) gemm; 3 n (n - 1) / 2 + 3 C(n, 3) edges. Relative weights by
/// FLOPs: 1/6, 1/2, 1/2, 1. Layer: k; step: i * tiles + j. Source: Buttari, Langou, Kurzak,
/// Dongarra, Parallel Computing 35, 2009, doi 10.1016/j.parco.2008.10.002.
[[nodiscard]] TaskGraph cholesky(std::int64_t tiles, const DagWeights& weights);

/// Gaussian elimination of a size x size matrix by columns: (m^2 + m - 2) / 2 tasks, m (m - 1) / 2
/// + (m - 1) (m - 2) / 2 + m - 2 edges. Layer: k; step: column. Source: Topcuoglu, Hariri, Wu, IEEE
/// TPDS 13(3), 2002, doi 10.1109/71.993206, figure 10.
[[nodiscard]] TaskGraph gaussian_elimination(std::int64_t size, const DagWeights& weights);

/// Fast Fourier transform of `points`, a power of two: 2 m - 1 recursive calls and m log2 m
/// butterflies; 2 (m - 1) + 2 m log2 m edges. Layer: depth; step: place. Source: the same, figure
/// 12.
[[nodiscard]] TaskGraph fft(std::int64_t points, const DagWeights& weights);

}  // namespace schedlab
