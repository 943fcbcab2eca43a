// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/opencl/product_tuning.hpp"
#include "real_exec/recurrent/recurrent_values.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Vendor libraries with a recurrent network of their own: the baselines of plans.
enum class RnnLibrary : std::uint8_t {
  onednn,  ///< Intel oneDNN's LSTM primitive, on this computer's cores
  cudnn,   ///< NVIDIA cuDNN's recurrent network, on a CUDA device
  /// Products by CLBlast, which has no network of its own, in one queue of an OpenCL device.
  clblast,
};
template <>
struct EnumNames<RnnLibrary> {
  static constexpr auto names = name_list("onednn", "cudnn", "clblast");
};

/// What a library offers as one call, or two.
enum class RnnCall : std::uint8_t {
  forward,
  backward,          ///< all gradients
  backward_data,     ///< dx, and the gradients of the initial states
  backward_weights,  ///< of weights and biases; after backward_data
};
inline constexpr std::size_t rnn_call_count = 4;
template <>
struct EnumNames<RnnCall> {
  static constexpr auto names =
      name_list("forward", "backward", "backward_data", "backward_weights");
};

/// One way in which a library can be asked to compute a network.
struct RnnVariant {
  std::string algorithm;  ///< the library's word, as "standard" or "persist_static"
  std::string launch;     ///< "eager" or "graph_launch"

  friend bool operator==(const RnnVariant&, const RnnVariant&) = default;
};

/// A recurrent network on a library's own routines, for comparison with RecurrentWork: the same
/// inputs, the same outputs (y; dx, dhx, dcx, dW, dR, db), the data type of the spec.
class LibraryRnn {
 public:
  LibraryRnn() = default;
  LibraryRnn(const LibraryRnn&) = delete;
  LibraryRnn& operator=(const LibraryRnn&) = delete;
  virtual ~LibraryRnn() = default;

  /// Can the call be made on its own? All libraries have forward and backward.
  [[nodiscard]] virtual bool has(RnnCall call) const = 0;
  /// Brings the device into the state in which DeviceBackend::begin_steadily() leaves it for our
  /// runs: before a run whose time is kept.
  virtual void begin_steadily() {}
  /// Makes the call and waits for its end: the host's time from before the call to the moment when
  /// the host knows that it is complete. Backward calls need a forward() before. Throws DeviceError
  /// if the library fails.
  virtual Duration run(RnnCall call) = 0;
  /// All outputs are not-a-number, and what is added into is zero: before a run that is checked.
  virtual void poison() = 0;
  /// Copies in our order of gates and our layouts; there is no loss and no update.
  [[nodiscard]] virtual RecurrentResults<float> results() = 0;
};

/// Where clblast runs; other libraries have their first device.
struct RnnDevice {
  int number = 0;                ///< of OpenCL's, counted from 0
  ProductParameters products{};  ///< empty: CLBlast's own
};

/// What is there: "cuDNN 9.19.0 on NVIDIA H200". Throws DeviceError with what is missing.
[[nodiscard]] std::string describe(RnnLibrary library, const RnnDevice& device = {});

/// Waits for all that the library does. Throws DeviceError if its device does not answer any more,
/// as after a kernel that failed.
void synchronize(RnnLibrary library);

/// All variants that the library knows, whether or not it supports them for a given network.
[[nodiscard]] std::vector<RnnVariant> rnn_variants(RnnLibrary library);

/// Errors  InfeasibleError if the library, or this variant of it, does not do this network, with
///         the reason that it gives; DeviceError as describe().
[[nodiscard]] std::unique_ptr<LibraryRnn> make_library_rnn(RnnLibrary library,
                                                           const RecurrentSpec& spec,
                                                           const RecurrentInputs<float>& inputs,
                                                           const RnnVariant& variant,
                                                           const RnnDevice& device = {});

}  // namespace schedlab
