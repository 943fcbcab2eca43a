// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

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

/// A run of all tasks, one after another.
inline RecurrentResults<float> serial_results(const RecurrentSpec& spec, std::uint64_t seed = 1) {
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, seed};
  run_serially(work, graph);
  return work.results();
}

}  // namespace schedlab::test
