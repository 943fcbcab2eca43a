// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph_node_labels.hpp"

#include <doctest/doctest.h>

using namespace schedlab;

TEST_CASE("a WorkId survives its 64 bits") {
  const WorkId task = WorkId::task(TaskId{4'000'000'000U});
  CHECK(WorkId::from_bits(task.bits()).kind() == WorkId::Kind::task);
  CHECK(WorkId::from_bits(task.bits()).task() == TaskId{4'000'000'000U});
  const WorkId node = WorkId::from_bits(WorkId::graph_node(7, 123).bits());
  CHECK(node.kind() == WorkId::Kind::graph_node);
  CHECK(node.graph() == 7);
  CHECK(node.index() == 123);
  CHECK(WorkId::graph_launch(7, 123) != node);
  CHECK(WorkId{}.kind() == WorkId::Kind::none);
  CHECK(WorkId::task(TaskId{0}) != WorkId{});
}

TEST_CASE("nodes belong to what their thread pushed last") {
  GraphNodeLabels labels;
  labels.created(1);  // nothing was pushed
  labels.push(WorkId::graph_node(0, 4));
  labels.created(2);
  labels.push(WorkId::graph_node(0, 5));
  labels.created(3);
  labels.pop();
  labels.created(4);
  labels.pop();
  labels.created(5);
  labels.pop();  // one too many does nothing
  const auto known = labels.labels();
  CHECK(known.size() == 3);
  CHECK(known.at(2) == WorkId::graph_node(0, 4));
  CHECK(known.at(3) == WorkId::graph_node(0, 5));
  CHECK(known.at(4) == WorkId::graph_node(0, 4));
}

TEST_CASE("a clone of a clone does what the original does") {
  GraphNodeLabels labels;
  labels.push(WorkId::graph_node(0, 9));
  labels.created(1);
  labels.pop();
  labels.cloned(11, 1);    // a child graph is put into its parent
  labels.cloned(111, 11);  // the parent is instantiated
  labels.cloned(222, 22);  // of an unknown node
  CHECK(labels.labels().at(111) == WorkId::graph_node(0, 9));
  CHECK(labels.labels().count(222) == 0);
}
