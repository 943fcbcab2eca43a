// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/padded_batch.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "sim/base/units.hpp"

namespace schedlab {

/// A recurrent network whose runs train it on sequences, on whatever device.
class TrainedNetwork {
 public:
  TrainedNetwork() = default;
  TrainedNetwork(const TrainedNetwork&) = delete;
  TrainedNetwork& operator=(const TrainedNetwork&) = delete;
  virtual ~TrainedNetwork() = default;

  /// What runs from now on train on: these sequences, from states of zero. Nothing beyond the end
  /// of a sequence counts in the loss, so that no gradient comes from there: gradients are those of
  /// the sequences without their padding, and of packed ones as if each had a row. Weights stay
  /// those that the next run starts from. Throws InfeasibleError for bidirectional layers, whose
  /// reverse direction begins with padding, and for another pass than training; ContractViolation
  /// for arrays of another size.
  virtual void train_on(const PaddedBatch& batch) = 0;
  /// The next run starts from the weights that the last run of `other`, or of this, ended with. The
  /// networks may differ in steps, not in layers; they are on the same device. Throws
  /// InfeasibleError for another optimizer than sgd: the kernels have the first step of adam only.
  virtual void continue_from(const TrainedNetwork& other) = 0;
  /// Loss of the last run; pass training.
  [[nodiscard]] virtual float loss() const = 0;
  /// Held between runs: arrays of tensors that have no memory of their own, and work space.
  [[nodiscard]] virtual Bytes kept_memory() const = 0;
  /// After a run of all tasks; copies.
  [[nodiscard]] virtual RecurrentResults<float> results() const = 0;
};

}  // namespace schedlab
