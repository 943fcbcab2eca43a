// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <memory>
#include <string>

namespace schedlab {

/// A stack of LSTM layers on oneDNN's own primitives, for comparison with RecurrentWork: one
/// primitive for all layers and steps in each direction of the pass, weights in the formats these
/// prefer, OpenMP threads.
///
/// Errors  InfeasibleError if this was built without oneDNN, or for what oneDNN's primitive of
/// several layers cannot do: a cell other than LSTM, two directions, an input of another width than
/// hidden (of more than one layer), a type other than fp32; DeviceError if oneDNN fails.
class OnednnLstm {
 public:
  /// `spec.pass`: training (dy comes from the loss) or backward (dy is given).
  OnednnLstm(const RecurrentSpec& spec, const RecurrentInputs<float>& inputs);
  OnednnLstm(const OnednnLstm&) = delete;
  OnednnLstm& operator=(const OnednnLstm&) = delete;
  ~OnednnLstm();

  [[nodiscard]] static bool available();
  /// "oneDNN 2.6.0"; what it was built with where it is not available.
  [[nodiscard]] static std::string version();
  /// Threads of the calling thread, from which forward() and backward() are called.
  static void set_threads(int threads);

  /// What backward() adds into becomes zero.
  void reset();
  /// All other outputs become not-a-number, before a run that is checked.
  void poison();
  void forward();
  /// Gradient of the squared error; of pass training between forward() and backward().
  void loss();
  void backward();
  /// Weights into the formats of the two primitives, which a training step after an update needs.
  void reorder_weights();

  /// Copies in our order of gates and our layouts; weights are as given, there is no update.
  [[nodiscard]] RecurrentResults<float> results();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace schedlab
