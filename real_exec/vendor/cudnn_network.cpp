// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/cudnn_network.hpp"

#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "sim/base/error.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <array>
#include <string>

namespace schedlab::detail {
namespace {

[[nodiscard]] bool unsupported(cudnnStatus_t status) {
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
}

std::string last_message() {
  std::array<char, 512> text{};
  cudnn().cudnnGetLastErrorString(text.data(), text.size());
  return std::string{text.data()};
}

template <class Owned, class Create>
Owned made(Create create, const char* call) {
  typename Owned::pointer object = nullptr;
  check_cudnn(create(&object), call);
  return Owned{object};
}

void check_supported(const RecurrentSpec& spec) {
  const auto refuse = [](bool unable, const char* what) {
    if (unable) throw InfeasibleError(fmt::format("cuDNN's recurrent network: {}", what));
  };
  refuse(spec.cell == RecurrentCell::gru_reset_before,
         "its GRU applies the reset gate after the product: cell must be \"lstm\" or \"gru\"");
  refuse(spec.bidirectional == Bidirectional::first,
         "all layers have as many directions: bidirectional must be \"none\" or \"all\"");
  refuse(spec.projection > 0, "run here without projection: projection must be 0");
  refuse(spec.pass == RecurrentPass::training,
         "it has no loss and no update: the pass must be \"forward\" or \"backward\"");
}

}  // namespace

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string what =
      fmt::format("{}: {} {}", call, cudnn().cudnnGetErrorString(status), last_message());
  // A wrong argument is how some algorithms refuse a shape.
  if (unsupported(status) || status == CUDNN_STATUS_BAD_PARAM) throw InfeasibleError(what);
  throw DeviceError(what);
}

CudnnNumber cudnn_number(DataType type) {
  switch (type) {
    case DataType::fp32:
      return {CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, 4};
    case DataType::tf32:
      return {CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 4};
    case DataType::bf16:
      return {CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, 2};
    case DataType::fp16:
      return {CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, 2};
    default:
      break;
  }
  throw InfeasibleError(
      fmt::format("cuDNN's recurrent network is run in fp32, tf32, bf16 or fp16 here, not in {}",
                  to_string(type)));
}

void copy_to_device(const CudnnNumber& number, const std::vector<float>& values, void* to) {
  const auto copy = [&](const void* from) {
    check_cuda(cudaMemcpy(to, from, values.size() * number.bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy");
  };
  if (number.type == CUDNN_DATA_FLOAT) {
    copy(values.data());
  } else if (number.type == CUDNN_DATA_BFLOAT16) {
    std::vector<__nv_bfloat16> narrow(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) narrow[i] = __float2bfloat16_rn(values[i]);
    copy(narrow.data());
  } else {
    std::vector<__half> narrow(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) narrow[i] = __float2half_rn(values[i]);
    copy(narrow.data());
  }
}

std::vector<float> copy_to_host(const CudnnNumber& number, const void* from, std::size_t count) {
  std::vector<float> values(count);
  const auto copy = [&](void* to) {
    check_cuda(cudaMemcpy(to, from, count * number.bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  };
  if (number.type == CUDNN_DATA_FLOAT) {
    copy(values.data());
  } else if (number.type == CUDNN_DATA_BFLOAT16) {
    std::vector<__nv_bfloat16> narrow(count);
    copy(narrow.data());
    for (std::size_t i = 0; i < count; ++i) values[i] = __bfloat162float(narrow[i]);
  } else {
    std::vector<__half> narrow(count);
    copy(narrow.data());
    for (std::size_t i = 0; i < count; ++i) values[i] = __half2float(narrow[i]);
  }
  return values;
}

CudnnNetwork::CudnnNetwork(const RecurrentSpec& given, cudnnRNNAlgo_t algorithm)
    : spec(given),
      number(cudnn_number(given.type)),
      directions(static_cast<std::size_t>(layer_directions(given, 0))) {
  check_supported(spec);
  stream = make_stream(0);
  handle = made<CudnnHandle>(cudnn().cudnnCreate, "cudnnCreate");
  check_cudnn(cudnn().cudnnSetStream(handle.get(), stream.get()), "cudnnSetStream");
  describe(algorithm);
}

void CudnnNetwork::describe(cudnnRNNAlgo_t algorithm) {
  dropout =
      made<DropoutDescriptor>(cudnn().cudnnCreateDropoutDescriptor, "cudnnCreateDropoutDescriptor");
  check_cudnn(cudnn().cudnnSetDropoutDescriptor(dropout.get(), handle.get(), 0.0F, nullptr, 0, 0),
              "cudnnSetDropoutDescriptor");
  rnn = made<RnnDescriptor>(cudnn().cudnnCreateRNNDescriptor, "cudnnCreateRNNDescriptor");
  const bool lstm = spec.cell == RecurrentCell::lstm;
  const auto hidden = static_cast<std::int32_t>(spec.hidden);
  check_cudnn(
      cudnn().cudnnSetRNNDescriptor_v8(rnn.get(),
                                       algorithm,
                                       lstm ? CUDNN_LSTM : CUDNN_GRU,
                                       lstm ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_DOUBLE_BIAS,
                                       directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                                       CUDNN_LINEAR_INPUT,
                                       number.type,
                                       CUDNN_DATA_FLOAT,
                                       number.math,
                                       static_cast<std::int32_t>(spec.input),
                                       hidden,
                                       hidden,  // no projection
                                       static_cast<std::int32_t>(spec.layers),
                                       dropout.get(),
                                       CUDNN_RNN_PADDED_IO_DISABLED),
      "cudnnSetRNNDescriptor_v8");
  x_shape = data_descriptor(static_cast<std::size_t>(spec.input));
  y_shape = data_descriptor(directions * static_cast<std::size_t>(spec.hidden));
  state_shape =
      made<TensorDescriptor>(cudnn().cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor");
  const std::array<int, 3> sizes{static_cast<int>(chain_count(spec)),
                                 static_cast<int>(spec.batch),
                                 static_cast<int>(spec.hidden)};
  const std::array<int, 3> strides{sizes[1] * sizes[2], sizes[2], 1};
  check_cudnn(cudnn().cudnnSetTensorNdDescriptor(
                  state_shape.get(), number.type, 3, sizes.data(), strides.data()),
              "cudnnSetTensorNdDescriptor");
  if (algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC) {
    check_cudnn(cudnn().cudnnBuildRNNDynamic(handle.get(), rnn.get(), static_cast<int>(spec.batch)),
                "cudnnBuildRNNDynamic");
  }
}

/// Packed, as all sequences are of the same length: [steps, batch, width], nothing between.
DataDescriptor CudnnNetwork::data_descriptor(std::size_t width) const {
  auto descriptor =
      made<DataDescriptor>(cudnn().cudnnCreateRNNDataDescriptor, "cudnnCreateRNNDataDescriptor");
  const std::vector<int> lengths(static_cast<std::size_t>(spec.batch),
                                 static_cast<int>(spec.steps));
  check_cudnn(cudnn().cudnnSetRNNDataDescriptor(descriptor.get(),
                                                number.type,
                                                CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                                static_cast<int>(spec.steps),
                                                static_cast<int>(spec.batch),
                                                static_cast<int>(width),
                                                lengths.data(),
                                                nullptr),
              "cudnnSetRNNDataDescriptor");
  return descriptor;
}

void CudnnNetwork::visit_weights(std::size_t chain,
                                 const Memory& space,
                                 CudnnChainWeights& weights,
                                 const Visit& action) const {
  const auto descriptor = [] {
    return made<TensorDescriptor>(cudnn().cudnnCreateTensorDescriptor,
                                  "cudnnCreateTensorDescriptor");
  };
  const TensorDescriptor matrix_shape = descriptor();
  const TensorDescriptor bias_shape = descriptor();
  const auto elements = [](const TensorDescriptor& shape) {
    cudnnDataType_t type{};
    int dimensions = 0;
    std::array<int, 3> sizes{};
    std::array<int, 3> strides{};
    check_cudnn(cudnn().cudnnGetTensorNdDescriptor(
                    shape.get(), 3, &type, &dimensions, sizes.data(), strides.data()),
                "cudnnGetTensorNdDescriptor");
    std::size_t count = 1;
    for (const int size : sizes) count *= static_cast<std::size_t>(size);
    return count;
  };
  for (std::size_t layer = 0; layer < weights.matrices.size(); ++layer) {
    void* matrix = nullptr;
    void* bias = nullptr;
    check_cudnn(cudnn().cudnnGetRNNWeightParams(handle.get(),
                                                rnn.get(),
                                                static_cast<std::int32_t>(chain),
                                                space.bytes(),
                                                space.data(),
                                                static_cast<std::int32_t>(layer),
                                                matrix_shape.get(),
                                                &matrix,
                                                bias_shape.get(),
                                                &bias),
                "cudnnGetRNNWeightParams");
    SCHEDLAB_EXPECTS(matrix != nullptr, "cuDNN has no matrix where ours has one");
    action(weights.matrices[layer], matrix, elements(matrix_shape));
    SCHEDLAB_EXPECTS((bias == nullptr) == weights.biases[layer].empty(),
                     "cuDNN has a bias where ours has none, or none where ours has one");
    if (bias != nullptr) action(weights.biases[layer], bias, elements(bias_shape));
  }
}

}  // namespace schedlab::detail
