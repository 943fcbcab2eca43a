// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/models/recurrent/model_parts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// How a decoder weighs the outputs of the encoder.
enum class AttentionKind : std::uint8_t {
  bahdanau,  ///< score = v^T tanh(Wq q + Wk k + b), normalised; the result is the context
  luong,     ///< score = (Wq q)^T k; the result is tanh(Wo [context; q])
};

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t source_steps = 1;
  std::int64_t target_steps = 1;
  std::int64_t hidden = 1;  ///< of queries, encoder outputs, scores' units and result
  std::int64_t chunk = 1;   ///< target steps that one task handles
};

/// Emits the attention of a decoder, in chunks of target steps. FLOPs besides the products: 5 per
/// unit of a bahdanau score (two sums, tanh, product, sum), 12 backward, where tanh is computed
/// again (two sums, tanh, 1 - tanh^2 (2), v and gradient (2), into dq and dk (2), dv (2), db (1));
/// softmax 5 per weight, 4 backward; tanh 1 per element, 3 backward.
/// Source  Bahdanau, Cho, Bengio, arXiv 1409.0473, normalised as Salimans and Kingma, arXiv
/// 1602.07868; Luong, Pham, Manning, arXiv 1508.04025 ("general").
class Attention {
 public:
  Attention(GraphEmitter& out, AttentionKind kind, const AttentionShape& shape);

  [[nodiscard]] std::int64_t chunks() const {
    return (shape_.target_steps + shape_.chunk - 1) / shape_.chunk;
  }

  /// The encoder's outputs; for luong `last` is a task after all of them. Adds the keys of
  /// bahdanau.
  void add_sources(const Steps* sources, TaskId last);
  void set_queries(const Steps* queries) { queries_ = queries; }
  void forward(std::int64_t chunk);
  /// The context, or luong's result, by target step.
  [[nodiscard]] const Steps& outputs() const { return outputs_; }

  /// Gradients of the outputs that are summed.
  void add_upstream(const Steps* values) { upstream_.push_back(values); }
  void begin_backward();
  void backward(std::int64_t chunk);
  /// What remains after all chunks: weight gradients, and the keys' gradient.
  void end_backward();
  /// What the queries' layer sums: one part, for luong two.
  [[nodiscard]] std::vector<const Steps*> query_gradients() const;
  /// What the encoder's top layer sums.
  [[nodiscard]] std::vector<const Steps*> source_gradients() const {
    return {&values_gradients_, &keys_gradients_};
  }
  void add_updates(Optimizer optimizer);

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t rows = 0;  ///< steps * batch
    std::int64_t tag = -1;
  };
  /// What backward needs of a chunk.
  struct Chunk {
    Value query;
    Value weights;
    Value context;
    Value query_gradient;
    Value result_gradient;  // luong: of Wo [context; q]
  };

  [[nodiscard]] Range range(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t weights(const Range& r) const { return r.rows * shape_.source_steps; }
  /// A task of one kernel that makes one tensor.
  [[nodiscard]] Value make(std::string_view name,
                           TaskClass task_class,
                           const Kernel& kernel,
                           const Range& range,
                           std::string_view tensor,
                           std::int64_t elements);
  void read_sources(TaskId task);
  void need_queries(TaskId task, const Range& range);
  [[nodiscard]] Value add_score(const Range& range, const Value& query);
  void set_outputs(const Range& range, const Value& value);
  [[nodiscard]] Value context_gradient(const Range& range, Chunk& chunk);
  void add_values_gradient(const Range& range, const Chunk& chunk, const Value& context_gradient);
  void add_score_gradient(const Range& range, Chunk& chunk, const Value& score_gradient);
  void add_weight_gradients();
  [[nodiscard]] TaskId add_weight(std::string_view name,
                                  const Kernel& kernel,
                                  Parameter& parameter);

  GraphEmitter& out_;
  AttentionKind kind_;
  AttentionShape shape_;
  Parameter query_parameter_;
  Parameter other_parameter_;  // bahdanau: Wk; luong: Wo
  Parameter score_parameter_;  // bahdanau: v, b and the scale
  const Steps* sources_ = nullptr;
  const Steps* queries_ = nullptr;
  std::vector<const Steps*> upstream_;
  Value keys_;  // of luong the sources themselves: after the last of them
  std::vector<Chunk> chunks_;
  Steps outputs_;
  Value values_gradient_;  // what was added last
  Value keys_gradient_;
  TaskId last_reader_;  // of the sources, in backward
  Steps query_gradients_;
  Steps direct_gradients_;  // luong: past the scores
  Steps values_gradients_;
  Steps keys_gradients_;
};

}  // namespace schedlab::detail
