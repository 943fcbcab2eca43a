// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/onednn_lstm.hpp"

#include "sim/base/error.hpp"

#ifdef SCHEDLAB_WITH_ONEDNN
#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>
#endif

namespace schedlab {

#ifdef SCHEDLAB_WITH_ONEDNN

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc floats(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

void refuse(bool unable, const char* what) {
  if (unable) {
    throw InfeasibleError(fmt::format("oneDNN's LSTM primitive of several layers: {}", what));
  }
}

void check_supported(const RecurrentSpec& spec) {
  refuse(spec.cell != RecurrentCell::lstm, "the cell must be \"lstm\" here");
  refuse(spec.projection > 0, "without projection here: projection must be 0");
  refuse(spec.type != DataType::fp32, "the data type must be fp32 here");
  refuse(spec.bidirectional != Bidirectional::none, "one direction only here");
  refuse(spec.layers > 1 && spec.input != 0 && spec.input != spec.hidden,
         "the input must be as wide as the hidden state");
  refuse(spec.pass == RecurrentPass::forward, "the pass must be training or backward here");
}

}  // namespace

/// Layouts of oneDNN: sequences [time, batch, width], states [layer, 1, batch, hidden], weights
/// [layer, 1, width, gate, hidden] (ldigo) with gates i, f, c~, o: per layer as ours.
class OnednnLstm::Implementation {
 public:
  Implementation(const RecurrentSpec& spec, const RecurrentInputs<float>& inputs);

  void reset();
  void poison();
  void forward() { execute(forward_, forward_arguments_); }
  void loss();
  void backward() { execute(backward_, backward_arguments_); }
  void reorder_weights();
  [[nodiscard]] RecurrentResults<float> results();

 private:
  using Arguments = std::unordered_map<int, memory>;

  [[nodiscard]] memory make(const memory::desc& desc) { return {desc, engine_}; }
  void execute(const dnnl::primitive& primitive, const Arguments& arguments) {
    primitive.execute(stream_, arguments);
    stream_.wait();
  }
  void describe();
  void fill(const RecurrentInputs<float>& inputs);
  static float* data(const memory& m) { return static_cast<float*>(m.get_data_handle()); }

  RecurrentSpec spec_;
  std::vector<float> target_;
  std::vector<RecurrentChainInputs<float>> given_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::lstm_forward forward_;
  dnnl::lstm_backward backward_;
  Arguments forward_arguments_;
  Arguments backward_arguments_;
  memory plain_wx_, plain_wh_, plain_dwx_, plain_dwh_;
  float loss_ = 0;
};

OnednnLstm::Implementation::Implementation(const RecurrentSpec& spec,
                                           const RecurrentInputs<float>& inputs)
    : spec_(spec), target_(inputs.target), given_(inputs.chains) {
  if (spec_.input == 0) spec_.input = spec_.hidden;
  describe();
  fill(inputs);
  reorder_weights();
  reset();
}

// A list of shapes.
// NOLINTNEXTLINE(readability-function-size)
void OnednnLstm::Implementation::describe() {
  const memory::dim l = spec_.layers;
  const memory::dim t = spec_.steps;
  const memory::dim n = spec_.batch;
  const memory::dim h = spec_.hidden;
  const memory::dim i = spec_.input;
  const memory::desc x = floats({t, n, i}, Tag::tnc);
  const memory::desc y = floats({t, n, h}, Tag::tnc);
  const memory::desc state = floats({l, 1, n, h}, Tag::ldnc);
  const memory::desc wx = floats({l, 1, i, 4, h}, Tag::any);
  const memory::desc wh = floats({l, 1, h, 4, h}, Tag::any);
  const memory::desc bias = floats({l, 1, 4, h}, Tag::ldgo);
  const auto direction = dnnl::rnn_direction::unidirectional_left2right;
  const dnnl::lstm_forward::primitive_desc forward({dnnl::prop_kind::forward_training,
                                                    direction,
                                                    x,
                                                    state,
                                                    state,
                                                    wx,
                                                    wh,
                                                    bias,
                                                    y,
                                                    state,
                                                    state},
                                                   engine_);
  const dnnl::lstm_backward::primitive_desc backward({dnnl::prop_kind::backward,
                                                      direction,
                                                      x,
                                                      state,
                                                      state,
                                                      wx,
                                                      wh,
                                                      bias,
                                                      y,
                                                      state,
                                                      state,
                                                      x,
                                                      state,
                                                      state,
                                                      wx,
                                                      wh,
                                                      bias,
                                                      y,
                                                      state,
                                                      state},
                                                     engine_,
                                                     forward);
  forward_ = dnnl::lstm_forward(forward);
  backward_ = dnnl::lstm_backward(backward);
  forward_arguments_ = {{DNNL_ARG_SRC_LAYER, make(x)},
                        {DNNL_ARG_SRC_ITER, make(state)},
                        {DNNL_ARG_SRC_ITER_C, make(state)},
                        {DNNL_ARG_WEIGHTS_LAYER, make(forward.weights_layer_desc())},
                        {DNNL_ARG_WEIGHTS_ITER, make(forward.weights_iter_desc())},
                        {DNNL_ARG_BIAS, make(bias)},
                        {DNNL_ARG_DST_LAYER, make(y)},
                        {DNNL_ARG_DST_ITER, make(state)},
                        {DNNL_ARG_DST_ITER_C, make(state)},
                        {DNNL_ARG_WORKSPACE, make(forward.workspace_desc())}};
  backward_arguments_ = forward_arguments_;
  backward_arguments_[DNNL_ARG_WEIGHTS_LAYER] = make(backward.weights_layer_desc());
  backward_arguments_[DNNL_ARG_WEIGHTS_ITER] = make(backward.weights_iter_desc());
  backward_arguments_[DNNL_ARG_DIFF_SRC_LAYER] = make(x);
  backward_arguments_[DNNL_ARG_DIFF_SRC_ITER] = make(state);
  backward_arguments_[DNNL_ARG_DIFF_SRC_ITER_C] = make(state);
  backward_arguments_[DNNL_ARG_DIFF_WEIGHTS_LAYER] = make(backward.diff_weights_layer_desc());
  backward_arguments_[DNNL_ARG_DIFF_WEIGHTS_ITER] = make(backward.diff_weights_iter_desc());
  backward_arguments_[DNNL_ARG_DIFF_BIAS] = make(bias);
  backward_arguments_[DNNL_ARG_DIFF_DST_LAYER] = make(y);
  backward_arguments_[DNNL_ARG_DIFF_DST_ITER] = make(state);
  backward_arguments_[DNNL_ARG_DIFF_DST_ITER_C] = make(state);
  plain_wx_ = make(floats({l, 1, i, 4, h}, Tag::ldigo));
  plain_wh_ = make(floats({l, 1, h, 4, h}, Tag::ldigo));
  plain_dwx_ = make(floats({l, 1, i, 4, h}, Tag::ldigo));
  plain_dwh_ = make(floats({l, 1, h, 4, h}, Tag::ldigo));
}

void OnednnLstm::Implementation::fill(const RecurrentInputs<float>& inputs) {
  const auto put = [](const memory& to, const std::vector<float>& from, std::size_t at) {
    std::copy(from.begin(), from.end(), data(to) + at);
  };
  put(forward_arguments_[DNNL_ARG_SRC_LAYER], inputs.x, 0);
  put(backward_arguments_[DNNL_ARG_DIFF_DST_LAYER], inputs.dy, 0);
  for (std::size_t c = 0; c < inputs.chains.size(); ++c) {
    const RecurrentChainInputs<float>& chain = inputs.chains[c];
    put(plain_wx_, chain.wx, c * chain.wx.size());
    put(plain_wh_, chain.wh, c * chain.wh.size());
    put(forward_arguments_[DNNL_ARG_BIAS], chain.bias, c * chain.bias.size());
    put(forward_arguments_[DNNL_ARG_SRC_ITER], chain.h0, c * chain.h0.size());
    put(forward_arguments_[DNNL_ARG_SRC_ITER_C], chain.c0, c * chain.c0.size());
    put(backward_arguments_[DNNL_ARG_DIFF_DST_ITER], chain.dh_last, c * chain.h0.size());
    put(backward_arguments_[DNNL_ARG_DIFF_DST_ITER_C], chain.dc_last, c * chain.c0.size());
  }
}

void OnednnLstm::Implementation::reset() {
  for (const int argument :
       {DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS}) {
    const memory& m = backward_arguments_[argument];
    std::memset(m.get_data_handle(), 0, m.get_desc().get_size());
  }
}

void OnednnLstm::Implementation::poison() {
  constexpr int not_a_number = 0xFF;  // in every byte
  for (const int argument : {DNNL_ARG_DST_LAYER,
                             DNNL_ARG_DIFF_SRC_LAYER,
                             DNNL_ARG_DIFF_SRC_ITER,
                             DNNL_ARG_DIFF_SRC_ITER_C}) {
    const memory& m = backward_arguments_[argument];
    std::memset(m.get_data_handle(), not_a_number, m.get_desc().get_size());
  }
  reset();
}

void OnednnLstm::Implementation::reorder_weights() {
  const auto reorder = [&](memory& from, memory& to) {
    dnnl::reorder(from, to).execute(stream_, from, to);
  };
  for (Arguments* arguments : {&forward_arguments_, &backward_arguments_}) {
    reorder(plain_wx_, (*arguments)[DNNL_ARG_WEIGHTS_LAYER]);
    reorder(plain_wh_, (*arguments)[DNNL_ARG_WEIGHTS_ITER]);
  }
  stream_.wait();
}

void OnednnLstm::Implementation::loss() {
  const float* y = data(forward_arguments_[DNNL_ARG_DST_LAYER]);
  float* dy = data(backward_arguments_[DNNL_ARG_DIFF_DST_LAYER]);
  const float scale = 1.0F / static_cast<float>(spec_.batch);
  double sum = 0;
  for (std::size_t i = 0; i < target_.size(); ++i) {
    const float difference = y[i] - target_[i];
    sum += static_cast<double>(difference) * static_cast<double>(difference);
    dy[i] = difference * scale;
  }
  loss_ = static_cast<float>(0.5 * sum / static_cast<double>(spec_.batch));
}

RecurrentResults<float> OnednnLstm::Implementation::results() {
  const auto reorder = [&](memory& from, memory& to) {
    dnnl::reorder(from, to).execute(stream_, from, to);
  };
  reorder(backward_arguments_[DNNL_ARG_DIFF_WEIGHTS_LAYER], plain_dwx_);
  reorder(backward_arguments_[DNNL_ARG_DIFF_WEIGHTS_ITER], plain_dwh_);
  stream_.wait();
  const auto take = [](const memory& from, std::size_t index, std::size_t count) {
    const float* begin = data(from) + index * count;
    return std::vector<float>(begin, begin + count);
  };
  RecurrentResults<float> results;
  const auto outputs = static_cast<std::size_t>(spec_.steps * spec_.batch * spec_.hidden);
  results.y = take(forward_arguments_[DNNL_ARG_DST_LAYER], 0, outputs);
  results.dx = take(backward_arguments_[DNNL_ARG_DIFF_SRC_LAYER],
                    0,
                    static_cast<std::size_t>(spec_.steps * spec_.batch * spec_.input));
  results.loss = loss_;
  for (std::size_t c = 0; c < given_.size(); ++c) {
    const RecurrentChainInputs<float>& in = given_[c];
    results.chains.push_back(
        {.dwx = take(plain_dwx_, c, in.wx.size()),
         .dwh = take(plain_dwh_, c, in.wh.size()),
         .dbias = take(backward_arguments_[DNNL_ARG_DIFF_BIAS], c, in.bias.size()),
         .dh0 = take(backward_arguments_[DNNL_ARG_DIFF_SRC_ITER], c, in.h0.size()),
         .dc0 = take(backward_arguments_[DNNL_ARG_DIFF_SRC_ITER_C], c, in.c0.size()),
         .wx = in.wx,
         .wh = in.wh,
         .bias = in.bias});
  }
  return results;
}

namespace {

/// Calls `action`; what oneDNN throws becomes a DeviceError.
template <class Action>
auto translated(const Action& action) {
  try {
    return action();
  } catch (const dnnl::error& error) {
    throw DeviceError(
        fmt::format("oneDNN: {} (status {})", error.what(), static_cast<int>(error.status)));
  }
}

}  // namespace

OnednnLstm::OnednnLstm(const RecurrentSpec& spec, const RecurrentInputs<float>& inputs) {
  check_supported(spec);
  implementation_ = translated([&] { return std::make_unique<Implementation>(spec, inputs); });
}

bool OnednnLstm::available() {
  return true;
}
std::string OnednnLstm::version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}
void OnednnLstm::set_threads(int threads) {
  omp_set_num_threads(threads);
}
void OnednnLstm::reset() {
  implementation_->reset();
}
void OnednnLstm::poison() {
  implementation_->poison();
}
void OnednnLstm::forward() {
  translated([&] { implementation_->forward(); });
}
void OnednnLstm::loss() {
  implementation_->loss();
}
void OnednnLstm::backward() {
  translated([&] { implementation_->backward(); });
}
void OnednnLstm::reorder_weights() {
  translated([&] { implementation_->reorder_weights(); });
}
RecurrentResults<float> OnednnLstm::results() {
  return translated([&] { return implementation_->results(); });
}

#else

class OnednnLstm::Implementation {};

OnednnLstm::OnednnLstm(const RecurrentSpec& /*spec*/, const RecurrentInputs<float>& /*inputs*/) {
  throw InfeasibleError("built without oneDNN: install it and configure again");
}
bool OnednnLstm::available() {
  return false;
}
std::string OnednnLstm::version() {
  return "without oneDNN";
}
void OnednnLstm::set_threads(int /*threads*/) {}
void OnednnLstm::reset() {}
void OnednnLstm::poison() {}
void OnednnLstm::forward() {}
void OnednnLstm::loss() {}
void OnednnLstm::backward() {}
void OnednnLstm::reorder_weights() {}
RecurrentResults<float> OnednnLstm::results() {
  return {};
}

#endif

OnednnLstm::~OnednnLstm() = default;

}  // namespace schedlab
