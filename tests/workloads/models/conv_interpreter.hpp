// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/models/convolution/conv_layers.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schedlab::testing {

using Numbers = std::vector<double>;

/// What a training step is computed from.
struct ConvData {
  std::int64_t batch = 1;                       ///< by which the loss is divided
  Numbers images{};                             ///< [batch, c, h, w]
  std::vector<std::size_t> labels{};            ///< [batch]
  std::map<std::size_t, Numbers> parameters{};  ///< by layer; batch_norm: scales, then shifts
};

/// Computes a training graph of emit_layers or split_batch in double precision, task by task, by
/// plain loops over definitions. A task gets nothing but the tensors that the graph says it reads,
/// and what it writes goes where the graph says: a missing dependency or a wrong merge changes
/// numbers or throws. Updates are not applied.
class ConvInterpreter {
 public:
  /// `first`: the first image that the slices' images are taken from; slices hold `sizes` images in
  /// turn (a graph without slices: one size). `net` and `data` must outlive this.
  ConvInterpreter(const detail::ConvLayers& net,
                  TaskGraph graph,
                  const ConvData& data,
                  std::size_t first,
                  std::vector<std::size_t> sizes);

  /// In this order, which must respect the graph.
  void run(const std::vector<TaskId>& order);

  /// Of the loss by the layer's parameters, over all slices; empty: the layer has none.
  [[nodiscard]] Numbers gradient(std::size_t layer) const;
  /// Sum over the images, divided by the batch.
  [[nodiscard]] double loss() const;

 private:
  struct Call;

  void compute(TaskId task);
  void forward(const Call& call);
  void backward(const Call& call);
  void merge(const Call& call);
  void concat(const Call& call);
  void concat_gradient(const Call& call);
  void losses(const Call& call);
  [[nodiscard]] std::vector<TensorId> named(const std::vector<TensorId>& among,
                                            const std::string& start) const;

  const detail::ConvLayers& net_;
  TaskGraph graph_;
  const ConvData& data_;
  std::vector<std::size_t> begins_;  ///< first image of each slice, and the end
  IdVector<TaskId, std::vector<TensorId>> reads_;
  IdVector<TaskId, std::vector<TensorId>> writes_;
  IdVector<TensorId, Numbers> values_;
};

}  // namespace schedlab::testing
