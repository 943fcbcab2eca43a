// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model_limits.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace schedlab::detail {
namespace {

constexpr std::int64_t max_chains = std::numeric_limits<std::int16_t>::max();
constexpr std::int64_t max_nodes = 100'000'000;  // assumed: 5 * 10^8 tasks are 40 GB
constexpr double largest_tensor = 0x1p60;        // bytes; sums of a few must fit into 63 bits
constexpr double bytes_and_copies = 8.0 * 40.0;  // widest element, largest sum over one node

}  // namespace

void check_nodes(std::string_view workload, std::int64_t chains, std::int64_t steps) {
  if (chains <= max_chains && steps <= max_nodes / chains) return;
  throw InfeasibleError(
      workload == "transformer"
          ? fmt::format("transformer: {} layers are too many nodes; use fewer layers", chains)
          : fmt::format("{}: {} layers x {} steps are too many nodes (two layers for each that is "
                        "bidirectional); use fewer layers or steps",
                        workload,
                        chains,
                        steps),
      "nodes",
      fmt::format("{} x {}", chains, steps),
      fmt::format("{} nodes in at most {} layers", max_nodes, max_chains));
}

void check_recurrent_tensors(const RecurrentExtent& extent) {
  const double rows = static_cast<double>(extent.steps + 1) * static_cast<double>(extent.batch);
  // The largest shapes: activations of all steps, and one weight matrix in every buffer.
  const double buffers = static_cast<double>(extent.buffers) + 1.0;
  const double gates = 4.0 * extent.hidden;
  const double elements = std::max(rows * std::max(extent.width, gates),
                                   gates * (extent.width + extent.hidden + 1.0) * buffers);
  if (bytes_and_copies * elements <= largest_tensor) return;
  throw InfeasibleError(
      fmt::format("recurrent layers: tensors of steps {}, batch {}, hidden {}, input {} have too "
                  "many bytes to be counted; use smaller shapes",
                  extent.steps,
                  extent.batch,
                  extent.hidden,
                  extent.width));
}

void check_elements(std::string_view workload, double elements, std::string_view what) {
  if (bytes_and_copies * elements <= largest_tensor) return;
  throw InfeasibleError(fmt::format(
      "{}: tensors of {} have too many bytes to be counted; use smaller shapes", workload, what));
}

}  // namespace schedlab::detail
