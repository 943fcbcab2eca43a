// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/families/dag_families.hpp"
#include "workloads/workload_entries.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace schedlab {
namespace {

using detail::number_option;
using detail::size_option;

std::vector<OptionSpec> with_weights(std::vector<OptionSpec> options) {
  options.push_back(size_option("seed", 1, "of the random numbers", 0, 9e15));
  options.push_back(
      number_option("duration_us", 10, "mean duration of a task of weight 1", 0, 1e6));
  options.push_back(number_option(
      "heterogeneity", 0.5, "durations are uniform over the mean times 1 - h to 1 + h", 0, 1));
  options.push_back(number_option(
      "ccr", 0, "communication-to-computation ratio; above 0 each edge is a transfer", 0, 1e3));
  return options;
}

DagWeights weights_from(const Options& o) {
  return {.seed = static_cast<std::uint64_t>(o.integer("seed")),
          .mean = from_us(o.number("duration_us")),
          .heterogeneity = o.number("heterogeneity"),
          .ccr = o.number("ccr")};
}

}  // namespace

WorkloadInfo erdos_renyi_workload() {
  return {.name = "erdos_renyi",
          .summary = "random graph: an edge from each task to each later one with one probability",
          .options = with_weights(
              {size_option("tasks", 100, "number of tasks"),
               number_option("edge_probability", 0.05, "of each pair of tasks", 0, 1)}),
          .make = [](const Options& o) {
            return erdos_renyi(o.integer("tasks"), o.number("edge_probability"), weights_from(o));
          }};
}

WorkloadInfo fork_join_workload() {
  return {.name = "fork_join",
          .summary = "stages of tasks that fork into equal branches and join again",
          .options = with_weights({size_option("stages", 5, "forks, one after another"),
                                   size_option("width", 10, "branches of each fork")}),
          .make = [](const Options& o) {
            return fork_join(o.integer("stages"), o.integer("width"), weights_from(o));
          }};
}

WorkloadInfo cholesky_workload() {
  return {.name = "cholesky",
          .summary = "tiled Cholesky factorisation, right-looking",
          .options = with_weights(
              {size_option("tiles", 8, "tiles along an edge of the matrix", 1, 32767)}),
          .make = [](const Options& o) { return cholesky(o.integer("tiles"), weights_from(o)); }};
}

WorkloadInfo gaussian_elimination_workload() {
  return {.name = "gaussian_elimination",
          .summary = "Gaussian elimination by columns",
          .options =
              with_weights({size_option("size", 10, "rows and columns of the matrix", 2, 32767)}),
          .make = [](const Options& o) {
            return gaussian_elimination(o.integer("size"), weights_from(o));
          }};
}

WorkloadInfo fft_workload() {
  return {.name = "fft",
          .summary = "fast Fourier transform: a tree of recursive calls, then butterflies",
          .options = with_weights({size_option("points", 16, "a power of two", 2, 1 << 22)}),
          .make = [](const Options& o) {
            const std::int64_t points = o.integer("points");
            const auto bits = static_cast<std::uint64_t>(points);
            if (!std::has_single_bit(bits)) {
              throw InputError(
                  {.file = {},
                   .pointer = "/points",
                   .found = fmt::format("{}", points),
                   .expected = "a power of two",
                   .hint = fmt::format("{} or {}?", std::bit_floor(bits), std::bit_ceil(bits))});
            }
            return fft(points, weights_from(o));
          }};
}

}  // namespace schedlab
