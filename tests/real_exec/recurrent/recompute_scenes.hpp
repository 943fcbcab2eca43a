// SPDX-License-Identifier: Apache-2.0
// Networks with recomputation, for the CPU and for devices.
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/memory_use.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::test {

inline constexpr std::array<Granularity, 5> granularities{Granularity::fine,
                                                          Granularity::coarse,
                                                          Granularity::matmul,
                                                          Granularity::data_and_weight,
                                                          Granularity::kernel_and_weight};
inline constexpr std::array<Recompute, 4> recompute_choices{
    Recompute::keep_backward, Recompute::data_drop, Recompute::sqrt, Recompute::optimal};

/// Both cells, all directions, all granularities; with tensors, nothing recomputed.
inline std::vector<RecurrentSpec> all_networks(std::int64_t layers, std::int64_t steps) {
  std::vector<RecurrentSpec> networks;
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    for (const Bidirectional both :
         {Bidirectional::none, Bidirectional::first, Bidirectional::all}) {
      for (const Granularity granularity : granularities) {
        RecurrentSpec& spec = networks.emplace_back(odd_network(cell, both));
        spec.layers = layers;
        spec.steps = steps;
        spec.granularity = granularity;
        spec.tensors = true;
        if (cell != RecurrentCell::lstm) continue;
        RecurrentSpec projected = spec;
        projected.projection = 7;
        networks.push_back(projected);
      }
    }
  }
  return networks;
}

inline RecurrentSpec recomputed(RecurrentSpec spec, Recompute recompute) {
  spec.tensors = true;
  spec.recompute = recompute;
  return spec;
}

/// Segments are refused by the workload for layers of two directions.
inline bool refused(const RecurrentSpec& spec) {
  return spec.bidirectional != Bidirectional::none &&
         (spec.recompute == Recompute::sqrt || spec.recompute == Recompute::optimal);
}

/// For messages of tests.
inline std::string described(const RecurrentSpec& spec) {
  return fmt::format(
      "cell {}, projection {}, bidirectional {}, granularity {}, accumulation {}, "
      "recompute {}",
      static_cast<int>(spec.cell),
      spec.projection,
      static_cast<int>(spec.bidirectional),
      static_cast<int>(spec.granularity),
      static_cast<int>(spec.accumulation),
      to_string(spec.recompute));
}

/// Names of the results that are not equal bit for bit; without y, which is not kept.
inline std::vector<std::string> differing(const RecurrentResults<float>& found,
                                          const RecurrentResults<float>& expected) {
  std::vector<std::string> names;
  if (found.loss != expected.loss) names.emplace_back("loss");
  if (found.dx != expected.dx) names.emplace_back("dx");
  if (found.chains != expected.chains) names.emplace_back("chains");
  return names;
}

/// Bytes that the plan's simulation holds at most.
inline double simulated_peak(const Problem& problem, const Plan& plan) {
  return static_cast<double>(memory_use(problem, simulate(problem, plan)).front().peak.count());
}

}  // namespace schedlab::test
