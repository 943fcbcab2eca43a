// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/library_rnn.hpp"

#include "real_exec/opencl/opencl_rnn.hpp"
#include "real_exec/vendor/cudnn_rnn.hpp"
#include "real_exec/vendor/onednn_lstm.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace schedlab {
namespace {

/// oneDNN computes data and weight gradients in one primitive.
class OnednnRnn final : public LibraryRnn {
 public:
  OnednnRnn(const RecurrentSpec& spec, const RecurrentInputs<float>& inputs)
      : lstm_(spec, inputs) {}

  [[nodiscard]] bool has(RnnCall call) const override {
    return call == RnnCall::forward || call == RnnCall::backward;
  }
  Duration run(RnnCall call) override {
    SCHEDLAB_EXPECTS(has(call), "oneDNN has no call for a part of the gradients");
    const auto start = std::chrono::steady_clock::now();
    if (call == RnnCall::forward) {
      lstm_.forward();
    } else {
      lstm_.backward();
    }
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
  }
  void poison() override { lstm_.poison(); }
  [[nodiscard]] RecurrentResults<float> results() override { return lstm_.results(); }

 private:
  OnednnLstm lstm_;
};

constexpr const char* onednn_algorithm = "lstm";
constexpr const char* clblast_algorithm = "one_queue";

}  // namespace

std::string describe(RnnLibrary library, const RnnDevice& device) {
  if (library == RnnLibrary::clblast) return detail::describe_clblast(device);
  if (library == RnnLibrary::cudnn) return detail::describe_cudnn();
  if (!OnednnLstm::available()) {
    throw DeviceError("built without oneDNN: install it and configure again");
  }
  return OnednnLstm::version();
}

void synchronize(RnnLibrary library) {
  if (library == RnnLibrary::cudnn) detail::synchronize_cudnn();  // oneDNN's calls have waited
}

std::vector<RnnVariant> rnn_variants(RnnLibrary library) {
  if (library == RnnLibrary::onednn) return {{onednn_algorithm, "eager"}};
  if (library == RnnLibrary::clblast) return {{clblast_algorithm, "eager"}};
  std::vector<RnnVariant> variants;
  for (const char* launch : {"eager", "graph_launch"}) {
    for (const std::string& algorithm : detail::cudnn_algorithm_names()) {
      variants.push_back({algorithm, launch});
    }
  }
  return variants;
}

std::unique_ptr<LibraryRnn> make_library_rnn(RnnLibrary library,
                                             const RecurrentSpec& spec,
                                             const RecurrentInputs<float>& inputs,
                                             const RnnVariant& variant,
                                             const RnnDevice& device) {
  const auto known = rnn_variants(library);
  SCHEDLAB_EXPECTS(
      std::find(known.begin(), known.end(), variant) != known.end(),
      fmt::format("{} has no {}, {}", to_string(library), variant.algorithm, variant.launch));
  if (library == RnnLibrary::onednn) return std::make_unique<OnednnRnn>(spec, inputs);
  if (library == RnnLibrary::clblast) return detail::make_clblast_rnn(spec, inputs, device);
  return detail::make_cudnn_rnn(spec, inputs, variant);
}

}  // namespace schedlab
