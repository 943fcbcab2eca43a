// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/models.hpp"

#include <string_view>

namespace schedlab::test {

inline GnmtSpec small_gnmt() {
  GnmtSpec spec;
  spec.layers = 4;
  spec.hidden = 3;
  spec.batch = 2;
  spec.source_steps = 5;
  spec.target_steps = 4;
  spec.vocabulary = 7;
  return spec;
}

inline OpennmtSpec small_opennmt() {
  OpennmtSpec spec;
  spec.hidden = 3;
  spec.embedding = 4;
  spec.batch = 2;
  spec.source_steps = 5;
  spec.target_steps = 4;
  spec.source_vocabulary = 7;
  spec.target_vocabulary = 11;
  return spec;
}

inline SentimentLstmSpec small_sentiment() {
  SentimentLstmSpec spec;
  spec.hidden = 3;
  spec.embedding = 4;
  spec.batch = 2;
  spec.steps = 5;
  spec.vocabulary = 7;
  return spec;
}

inline TaskId find_operation(const TaskGraph& graph, std::string_view name) {
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name == name) return task;
  }
  return TaskId::none();
}

}  // namespace schedlab::test
