// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"
#include "sim/graph/task_graph.hpp"
#include "tests/workloads/formats/graph_equal.hpp"

#include <cstdlib>
#include <iostream>
#include <string>

namespace schedlab::testing {

/// What every accepted input must satisfy: it can be written and read again without loss. `read`
/// may refuse an input with InputError and with nothing else.
template <class Read, class Write>
void check_reader(const Read& read, const Write& write) {
  TaskGraph graph;
  try {
    graph = read();
  } catch (const InputError& error) {
    if (!std::string{error.what()}.empty()) return;
    std::cerr << "refused without a word\n";
    std::abort();
  }
  if (graph.topological_order().size() != graph.task_count()) {
    std::cerr << "accepted a cycle\n";
    std::abort();
  }
  const std::string lost = write(graph);
  if (lost.empty()) return;
  std::cerr << "writing and reading again changes: " << lost << '\n';
  std::abort();
}

}  // namespace schedlab::testing
