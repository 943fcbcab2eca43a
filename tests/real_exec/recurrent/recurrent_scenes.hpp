// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::test {

/// Two layers of odd sizes, so that every panel has a rest.
inline RecurrentSpec odd_network(RecurrentCell cell, Bidirectional both = Bidirectional::none) {
  RecurrentSpec spec;
  spec.layers = 2;
  spec.steps = 5;
  spec.batch = 3;
  spec.hidden = 17;
  spec.input = 5;
  spec.cell = cell;
  spec.bidirectional = both;
  spec.pass = RecurrentPass::training;
  spec.tensors = false;
  return spec;
}

/// LSTMs whose output is projected to 7 of 17 units.
inline RecurrentSpec projected_network(Bidirectional both = Bidirectional::none) {
  RecurrentSpec spec = odd_network(RecurrentCell::lstm, both);
  spec.projection = 7;
  return spec;
}

/// The network with data drop.
inline RecurrentSpec recomputed_network(RecurrentSpec spec) {
  spec.tensors = true;
  spec.recompute = Recompute::data_drop;
  return spec;
}

/// The network with products cut in other ways: over several steps, in slices, within few units,
/// of copies along the sum where it has such, and all of it at once.
inline std::vector<RecurrentSpec> cut_otherwise(const RecurrentSpec& whole) {
  std::vector<RecurrentSpec> all(4, whole);
  all[0].hidden_2_steps = 2;  // the last product is of fewer
  all[1].hidden_2_steps = 0;
  all[2].hidden_1_slices = whole.hidden;  // one gate's columns lie in several slices
  all[3].hidden_2_steps = 3;
  all[3].hidden_1_slices = whole.hidden;
  all[3].accumulation = Accumulation::batched;
  all[3].accumulation_steps = 3;
  all[3].last_accumulation_steps = 2;
  all[3].weight_units = 2;
  const bool copies = whole.granularity != Granularity::coarse && whole.projection == 0 &&
                      whole.cell != RecurrentCell::gru_reset_before;
  for (std::size_t i = 0; copies && i < 4; i += 3) {  // of each step, and of several
    all.push_back(all[i]);
    all.back().k_major = true;
  }
  return all;
}

/// A run of all tasks, one after another.
inline RecurrentResults<float> serial_results(const RecurrentSpec& spec, std::uint64_t seed = 1) {
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, seed};
  run_serially(work, graph);
  return work.results();
}

}  // namespace schedlab::test
