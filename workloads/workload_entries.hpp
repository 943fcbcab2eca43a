// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/registry.hpp"

namespace schedlab {

// Name, options and maker of each workload; registry.cpp lists them.
[[nodiscard]] WorkloadInfo lstm_workload();
[[nodiscard]] WorkloadInfo gru_workload();
[[nodiscard]] WorkloadInfo gnmt_workload();
[[nodiscard]] WorkloadInfo opennmt_workload();
[[nodiscard]] WorkloadInfo sentiment_lstm_workload();
[[nodiscard]] WorkloadInfo output_layer_workload();
[[nodiscard]] WorkloadInfo llama_decode_workload();
[[nodiscard]] WorkloadInfo llama_prefill_workload();
[[nodiscard]] WorkloadInfo alexnet_workload();
[[nodiscard]] WorkloadInfo vgg16_workload();
[[nodiscard]] WorkloadInfo resnet50_workload();
[[nodiscard]] WorkloadInfo resnet101_workload();
[[nodiscard]] WorkloadInfo inception_v3_workload();
[[nodiscard]] WorkloadInfo inception_v4_workload();
[[nodiscard]] WorkloadInfo grid_workload();
[[nodiscard]] WorkloadInfo random_layered_workload();
[[nodiscard]] WorkloadInfo erdos_renyi_workload();
[[nodiscard]] WorkloadInfo fork_join_workload();
[[nodiscard]] WorkloadInfo cholesky_workload();
[[nodiscard]] WorkloadInfo gaussian_elimination_workload();
[[nodiscard]] WorkloadInfo fft_workload();
[[nodiscard]] WorkloadInfo pipeline_workload();
[[nodiscard]] WorkloadInfo mnist_cnn_pipeline_workload();
[[nodiscard]] WorkloadInfo resnet50_pipeline_workload();
[[nodiscard]] WorkloadInfo gpt_pipeline_workload();
[[nodiscard]] WorkloadInfo layer_file_pipeline_workload();
[[nodiscard]] WorkloadInfo layer_file_training_workload();
[[nodiscard]] WorkloadInfo file_workload();

}  // namespace schedlab
