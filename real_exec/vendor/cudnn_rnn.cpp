// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/cudnn_rnn.hpp"

#include "sim/base/error.hpp"

#ifdef SCHEDLAB_WITH_CUDNN
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/steady_state.hpp"
#include "real_exec/vendor/cudnn_network.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#endif

namespace schedlab::detail {

const std::vector<std::string>& cudnn_algorithm_names() {
  static const std::vector<std::string> names{
      "standard", "persist_static", "persist_dynamic", "persist_static_small_h"};
  return names;
}

#ifdef SCHEDLAB_WITH_CUDNN

namespace {

RecurrentSpec with_input(RecurrentSpec spec) {
  if (spec.input == 0) spec.input = spec.hidden;
  return spec;
}

void fill_bytes(const Memory& memory, int byte) {
  if (!memory.empty()) check_cuda(cudaMemset(memory.data(), byte, memory.bytes()), "cudaMemset");
}

class CudnnRnn final : public LibraryRnn {
 public:
  CudnnRnn(const RecurrentSpec& given,
           const RecurrentInputs<float>& inputs,
           cudnnRNNAlgo_t algorithm,
           bool captured);

  [[nodiscard]] bool has(RnnCall call) const override {
    return call == RnnCall::forward || spec_.pass == RecurrentPass::backward;
  }
  void begin_steadily() override;
  Duration run(RnnCall call) override;
  void poison() override;
  [[nodiscard]] RecurrentResults<float> results() override;

 private:
  [[nodiscard]] bool backward_too() const { return spec_.pass == RecurrentPass::backward; }
  [[nodiscard]] std::size_t sequence(std::size_t width) const {
    return static_cast<std::size_t>(spec_.steps * spec_.batch) * width;
  }
  void allocate();
  void fill(const RecurrentInputs<float>& inputs);
  void capture();
  void enqueue(RnnCall call);
  void enqueue_forward();
  void enqueue_backward_data();
  void enqueue_backward_weights();

  RecurrentSpec spec_;
  CudnnNetwork net_;
  std::size_t input_;
  std::vector<RecurrentChainInputs<float>> given_;
  DeviceArray<std::int32_t> lengths_;
  Memory x_, y_, dy_, dx_;
  Memory h0_, c0_, h_last_, c_last_, dh_last_, dc_last_, dh0_, dc0_;
  Memory weights_, gradients_, workspace_, reserve_;
  std::array<CudaGraphExec, rnn_call_count> graphs_;
  bool captured_ = false;
  std::shared_ptr<const CudaContext> context_;  // of the next
  std::optional<SteadyState> steady_;
};

CudnnRnn::CudnnRnn(const RecurrentSpec& given,
                   const RecurrentInputs<float>& inputs,
                   cudnnRNNAlgo_t algorithm,
                   bool captured)
    : spec_(with_input(given)),
      net_(spec_, algorithm),
      input_(static_cast<std::size_t>(spec_.input)),
      given_(inputs.chains) {
  allocate();
  fill(inputs);
  poison();
  if (captured) capture();
}

void CudnnRnn::allocate() {
  const auto hidden = static_cast<std::size_t>(spec_.hidden);
  const auto states = static_cast<std::size_t>(chain_count(spec_) * spec_.batch) * hidden;
  const auto elements = [&](std::size_t count) { return Memory(count * net_.number.bytes); };
  x_ = elements(sequence(input_));
  y_ = elements(sequence(net_.directions * hidden));
  // A GRU has no cell state: its pointers stay null.
  const std::size_t cell_states = cell_shape(spec_.cell).cell_state ? states : 0;
  for (Memory* state : {&h0_, &h_last_}) *state = elements(states);
  for (Memory* state : {&c0_, &c_last_}) *state = elements(cell_states);
  if (backward_too()) {
    dx_ = elements(sequence(input_));
    dy_ = elements(sequence(net_.directions * hidden));
    for (Memory* state : {&dh_last_, &dh0_}) *state = elements(states);
    for (Memory* state : {&dc_last_, &dc0_}) *state = elements(cell_states);
  }
  std::size_t bytes = 0;
  check_cudnn(cudnn().cudnnGetRNNWeightSpaceSize(net_.handle.get(), net_.rnn.get(), &bytes),
              "cudnnGetRNNWeightSpaceSize");
  weights_ = Memory(bytes);
  if (backward_too()) gradients_ = Memory(bytes);
  std::size_t work = 0;
  std::size_t reserve = 0;
  check_cudnn(cudnn().cudnnGetRNNTempSpaceSizes(
                  net_.handle.get(),
                  net_.rnn.get(),
                  backward_too() ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                  net_.x_shape.get(),
                  &work,
                  &reserve),
              "cudnnGetRNNTempSpaceSizes");
  workspace_ = Memory(work);
  reserve_ = Memory(reserve);
  lengths_ = DeviceArray<std::int32_t>(static_cast<std::size_t>(spec_.batch));
}

void CudnnRnn::fill(const RecurrentInputs<float>& inputs) {
  const std::vector<std::int32_t> lengths(static_cast<std::size_t>(spec_.batch),
                                          static_cast<std::int32_t>(spec_.steps));
  check_cuda(cudaMemcpy(lengths_.data(), lengths.data(), lengths_.bytes(), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  copy_to_device(net_.number, inputs.x, x_.data());
  if (backward_too()) copy_to_device(net_.number, inputs.dy, dy_.data());
  fill_bytes(weights_, 0);
  std::vector<float> h0;
  std::vector<float> c0;
  std::vector<float> dh_last;
  std::vector<float> dc_last;
  const auto append = [](std::vector<float>& all, const std::vector<float>& part) {
    all.insert(all.end(), part.begin(), part.end());
  };
  for (std::size_t c = 0; c < inputs.chains.size(); ++c) {
    const RecurrentChainInputs<float>& chain = inputs.chains[c];
    append(h0, chain.h0);
    append(c0, chain.c0);
    append(dh_last, chain.dh_last);
    append(dc_last, chain.dc_last);
    CudnnChainWeights weights = to_cudnn(spec_, chain);
    net_.visit_weights(
        c, weights_, weights, [&](std::vector<float>& values, void* to, std::size_t n) {
          SCHEDLAB_EXPECTS(values.size() == n, "a parameter of cuDNN's has another size than ours");
          copy_to_device(net_.number, values, to);
        });
  }
  copy_to_device(net_.number, h0, h0_.data());
  if (!c0.empty()) copy_to_device(net_.number, c0, c0_.data());
  if (!backward_too()) return;
  copy_to_device(net_.number, dh_last, dh_last_.data());
  if (!dc_last.empty()) copy_to_device(net_.number, dc_last, dc_last_.data());
}

void CudnnRnn::poison() {
  constexpr int not_a_number = 0xFF;  // in every byte, of each of our types
  for (const Memory* output : {&y_, &h_last_, &c_last_, &dx_, &dh0_, &dc0_}) {
    fill_bytes(*output, not_a_number);
  }
  fill_bytes(gradients_, 0);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void CudnnRnn::enqueue_forward() {
  check_cudnn(
      cudnn().cudnnRNNForward(net_.handle.get(),
                              net_.rnn.get(),
                              backward_too() ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                              lengths_.data(),
                              net_.x_shape.get(),
                              x_.data(),
                              net_.y_shape.get(),
                              y_.data(),
                              net_.state_shape.get(),
                              h0_.data(),
                              h_last_.data(),
                              net_.state_shape.get(),
                              c0_.data(),
                              c_last_.data(),
                              weights_.bytes(),
                              weights_.data(),
                              workspace_.bytes(),
                              workspace_.data(),
                              reserve_.bytes(),
                              reserve_.data()),
      "cudnnRNNForward");
}

void CudnnRnn::enqueue_backward_data() {
  check_cudnn(cudnn().cudnnRNNBackwardData_v8(net_.handle.get(),
                                              net_.rnn.get(),
                                              lengths_.data(),
                                              net_.y_shape.get(),
                                              y_.data(),
                                              dy_.data(),
                                              net_.x_shape.get(),
                                              dx_.data(),
                                              net_.state_shape.get(),
                                              h0_.data(),
                                              dh_last_.data(),
                                              dh0_.data(),
                                              net_.state_shape.get(),
                                              c0_.data(),
                                              dc_last_.data(),
                                              dc0_.data(),
                                              weights_.bytes(),
                                              weights_.data(),
                                              workspace_.bytes(),
                                              workspace_.data(),
                                              reserve_.bytes(),
                                              reserve_.data()),
              "cudnnRNNBackwardData_v8");
}

void CudnnRnn::enqueue_backward_weights() {
  check_cudnn(cudnn().cudnnRNNBackwardWeights_v8(net_.handle.get(),
                                                 net_.rnn.get(),
                                                 CUDNN_WGRAD_MODE_ADD,
                                                 lengths_.data(),
                                                 net_.x_shape.get(),
                                                 x_.data(),
                                                 net_.state_shape.get(),
                                                 h0_.data(),
                                                 net_.y_shape.get(),
                                                 y_.data(),
                                                 gradients_.bytes(),
                                                 gradients_.data(),
                                                 workspace_.bytes(),
                                                 workspace_.data(),
                                                 reserve_.bytes(),
                                                 reserve_.data()),
              "cudnnRNNBackwardWeights_v8");
}

void CudnnRnn::enqueue(RnnCall call) {
  switch (call) {
    case RnnCall::forward:
      return enqueue_forward();
    case RnnCall::backward_data:
      return enqueue_backward_data();
    case RnnCall::backward_weights:
      return enqueue_backward_weights();
    case RnnCall::backward:
      enqueue_backward_data();
      return enqueue_backward_weights();
  }
}

/// Each call once eagerly first: what a library does at its first call cannot be captured.
void CudnnRnn::capture() {
  std::vector<RnnCall> calls{RnnCall::forward};
  if (backward_too()) {
    calls.insert(calls.end(),
                 {RnnCall::backward_data, RnnCall::backward_weights, RnnCall::backward});
  }
  for (const RnnCall call : calls) static_cast<void>(run(call));
  poison();
  for (const RnnCall call : calls) {
    check_cuda(cudaStreamBeginCapture(net_.stream.get(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    std::string failure;
    try {
      enqueue(call);
    } catch (const std::exception& error) {
      failure = error.what();
    }
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(net_.stream.get(), &captured);
    const CudaGraph graph(captured);
    if (!failure.empty() || ended != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // or the next call reports it again
      throw InfeasibleError(
          fmt::format("cuDNN's {} cannot be captured into a CUDA graph: {}",
                      to_string(call),
                      failure.empty() ? cudaGetErrorString(ended) : failure.c_str()));
    }
    cudaGraphExec_t exec = nullptr;
    check_cuda(cudaGraphInstantiate(&exec, graph.get(), 0), "cudaGraphInstantiate");
    graphs_[static_cast<std::size_t>(call)] = CudaGraphExec(exec);
    check_cuda(cudaGraphUpload(exec, net_.stream.get()), "cudaGraphUpload");
  }
  check_cuda(cudaStreamSynchronize(net_.stream.get()), "cudaStreamSynchronize");
  captured_ = true;
}

void CudnnRnn::begin_steadily() {
  if (!steady_) {
    context_ = make_cuda_context({});
    steady_.emplace(*context_);
  }
  steady_->enter();
}

Duration CudnnRnn::run(RnnCall call) {
  SCHEDLAB_EXPECTS(has(call), "a network made for the forward pass has no gradients");
  const auto start = std::chrono::steady_clock::now();
  if (captured_) {
    check_cuda(cudaGraphLaunch(graphs_[static_cast<std::size_t>(call)].get(), net_.stream.get()),
               "cudaGraphLaunch");
  } else {
    enqueue(call);
  }
  check_cuda(cudaStreamSynchronize(net_.stream.get()), "cudaStreamSynchronize");
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
}

RecurrentResults<float> CudnnRnn::results() {
  RecurrentResults<float> all;
  const auto hidden = static_cast<std::size_t>(spec_.hidden);
  const std::size_t state = static_cast<std::size_t>(spec_.batch) * hidden;
  all.y = copy_to_host(net_.number, y_.data(), sequence(net_.directions * hidden));
  all.dx.resize(sequence(input_));
  if (backward_too()) all.dx = copy_to_host(net_.number, dx_.data(), sequence(input_));
  for (std::size_t c = 0; c < given_.size(); ++c) {
    const RecurrentChainInputs<float>& given = given_[c];
    RecurrentChainResults<float>& chain = all.chains.emplace_back();
    chain.wx = given.wx;
    chain.wh = given.wh;
    chain.bias = given.bias;
    CudnnChainWeights gradients = to_cudnn(spec_, given);  // of the shapes
    if (backward_too()) {
      net_.visit_weights(
          c, gradients_, gradients, [&](std::vector<float>& values, void* from, std::size_t n) {
            values = copy_to_host(net_.number, from, n);
          });
      from_cudnn(spec_, gradients, chain);
      const auto part = [&](const Memory& states) {
        return copy_to_host(net_.number, states.data() + c * state * net_.number.bytes, state);
      };
      chain.dh0 = part(dh0_);
      if (!given.c0.empty()) chain.dc0 = part(dc0_);
    } else {
      chain.dwx.resize(given.wx.size());
      chain.dwh.resize(given.wh.size());
      chain.dbias.resize(given.bias.size());
      chain.dh0.resize(state);
      chain.dc0.resize(given.c0.size());
    }
  }
  return all;
}

/// Throws DeviceError with what is missing.
void expect_device() {
  const CudaAvailability found = cuda_available();
  if (!found.available) throw DeviceError(found.reason);
}

}  // namespace

std::string cudnn_version() {
  const std::size_t version = cudnn().cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string describe_cudnn() {
  expect_device();
  cudaDeviceProp device{};
  check_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  return fmt::format("cuDNN {} on {}", cudnn_version(), static_cast<const char*>(device.name));
}

void synchronize_cudnn() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

std::unique_ptr<LibraryRnn> make_cudnn_rnn(const RecurrentSpec& spec,
                                           const RecurrentInputs<float>& inputs,
                                           const RnnVariant& variant) {
  expect_device();
  const auto& names = cudnn_algorithm_names();
  std::size_t algorithm = 0;
  while (algorithm < names.size() && names[algorithm] != variant.algorithm) ++algorithm;
  return std::make_unique<CudnnRnn>(
      spec, inputs, static_cast<cudnnRNNAlgo_t>(algorithm), variant.launch == "graph_launch");
}

#else

namespace {

constexpr const char* missing =
    "built without cuDNN: install the CUDA toolkit with cuDNN 9 and configure again";

}  // namespace

std::string cudnn_version() {
  throw DeviceError(missing);
}

std::string describe_cudnn() {
  throw DeviceError(missing);
}

void synchronize_cudnn() {
  throw DeviceError(missing);
}

std::unique_ptr<LibraryRnn> make_cudnn_rnn(const RecurrentSpec& /*spec*/,
                                           const RecurrentInputs<float>& /*inputs*/,
                                           const RnnVariant& /*variant*/) {
  throw DeviceError(missing);
}

#endif

}  // namespace schedlab::detail
