// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/pipeline/layer_graph.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace schedlab {

/// What one operator adds to a layer of a GPT.
struct GptOperator {
  std::string_view name;
  std::vector<Kernel> forward{};
  std::vector<Kernel> backward_data{};
  std::vector<Kernel> backward_weight{};
  std::int64_t parameters = 0;
  std::int64_t expert_parameters = 0;  ///< of these, of this rank alone
  std::int64_t kept = 0;               ///< elements
  std::int64_t outputs = 0;            ///< elements
  bool reads_block = false;        ///< besides the operator before, the block's input or its middle
  std::vector<LayerJoin> joins{};  ///< positions among the operator's own kernels

  /// Before all that the pass does and exchanges.
  void put_first(LayerPass pass, Kernel kernel);
};

/// One after the other; backward from the last to the first.
[[nodiscard]] GptOperator in_sequence(std::string_view name,
                                      const std::vector<GptOperator>& operators);

/// Keeps each element or not, and says which in a byte of its own.
[[nodiscard]] Kernel dropout_kernel(std::int64_t elements, DataType type);
/// Reads those bytes.
[[nodiscard]] Kernel dropout_gradient_kernel(std::int64_t elements, DataType type);

/// The types that a GPT computes in. With autocast weights, residuals, norms, softmax and loss are
/// fp32, and what a product reads is cast to `type` first (PyTorch, Automatic Mixed Precision
/// package, autocast op reference; sums take the wider type of what they read).
class GptPrecision {
 public:
  GptPrecision(DataType type, bool autocast)
      : type_(type), wide_(autocast ? DataType::fp32 : type), autocast_(autocast) {}

  [[nodiscard]] bool autocast() const { return autocast_; }
  /// Of residuals, norms, softmax and weights.
  [[nodiscard]] DataType wide() const { return wide_; }
  /// So many elements of `type` take as many bytes as `elements` of the wide type.
  [[nodiscard]] std::int64_t widened(std::int64_t elements) const;
  /// y = x + a product's result.
  [[nodiscard]] Kernel residual(std::int64_t elements) const;
  /// Softmax between two products, with dropout behind it or without.
  [[nodiscard]] std::vector<Kernel> softmax(std::int64_t rows,
                                            std::int64_t columns,
                                            bool dropout) const;
  /// Its gradient, likewise.
  [[nodiscard]] std::vector<Kernel> softmax_gradient(std::int64_t elements, bool dropout) const;
  /// Elements of `type` that they leave for the gradient.
  [[nodiscard]] std::int64_t softmax_kept(std::int64_t elements, bool dropout) const;
  /// As many as the bytes of dropout.
  [[nodiscard]] std::int64_t mask(std::int64_t elements) const;
  /// Softmax of the logits with the loss, and what its gradient takes besides.
  [[nodiscard]] std::vector<Kernel> loss(std::int64_t rows, std::int64_t words) const;
  [[nodiscard]] std::vector<Kernel> loss_gradient(std::int64_t elements) const;

  // With autocast only:
  /// An operator that reads the wide state begins with a product: so many elements are cast, and
  /// kept, and their gradient at its end.
  void cast_input(std::int64_t elements, GptOperator& one) const;
  /// The gradient of its wide result, before backward begins.
  void cast_output_gradient(std::int64_t elements, GptOperator& one) const;
  /// Weights before, their gradients behind; all that the operator has.
  void cast_weights(GptOperator& one) const;

 private:
  DataType type_;
  DataType wide_;
  bool autocast_;
};

}  // namespace schedlab
