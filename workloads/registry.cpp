// SPDX-License-Identifier: Apache-2.0
#include "workloads/registry.hpp"

#include "sim/base/spelling.hpp"
#include "workloads/common_transforms.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/transforms/split_batch.hpp"
#include "workloads/workload_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {

namespace {

/// The workload with the options that all have.
WorkloadInfo with_common_options(WorkloadInfo info) {
  const auto& common = common_transform_options();
  info.options.insert(info.options.end(), common.begin(), common.end());
  info.make = [make = std::move(info.make)](const Options& options) {
    return with_common_transforms(make(options), options);
  };
  return info;
}

bool has_option(const WorkloadInfo& info, std::string_view name) {
  return std::any_of(info.options.begin(), info.options.end(), [&](const OptionSpec& option) {
    return option.name == name;
  });
}

/// A workload with a batch, whose graph has the same tasks for any, can be cut into slices; not one
/// that cuts it into micro-batches.
WorkloadInfo with_split(WorkloadInfo info) {
  if (!has_option(info, "batch") || has_option(info, "microbatches") || has_option(info, "split")) {
    return info;
  }
  info.options.push_back(detail::split_option(1));
  info.make = [make = std::move(info.make)](const Options& options) {
    const std::int64_t slices = options.integer("split");
    if (slices == 1) return make(options);
    const auto with_batch = [&](std::int64_t batch) {
      std::map<std::string, OptionValue> values = options.values();
      values["batch"] = batch;
      values["include_tensors"] = true;  // which say what belongs to a slice
      return make(Options{std::move(values)});
    };
    return split_batch(with_batch,
                       {.batch = options.integer("batch"),
                        .slices = slices,
                        .keep_tensors = options.flag("include_tensors")});
  };
  return info;
}

std::vector<WorkloadInfo> all_workloads() {
  std::vector<WorkloadInfo> all{
      lstm_workload(),                  // lstm
      gru_workload(),                   // gru
      gnmt_workload(),                  // gnmt
      opennmt_workload(),               // opennmt
      sentiment_lstm_workload(),        // sentiment_lstm
      output_layer_workload(),          // output_layer
      llama_decode_workload(),          // llama_decode
      llama_prefill_workload(),         // llama_prefill
      alexnet_workload(),               // alexnet
      vgg16_workload(),                 // vgg16
      resnet50_workload(),              // resnet50
      resnet101_workload(),             // resnet101
      inception_v3_workload(),          // inception_v3
      inception_v4_workload(),          // inception_v4
      grid_workload(),                  // grid
      random_layered_workload(),        // random_layered
      erdos_renyi_workload(),           // erdos_renyi
      fork_join_workload(),             // fork_join
      cholesky_workload(),              // cholesky
      gaussian_elimination_workload(),  // gaussian_elimination
      fft_workload(),                   // fft
      pipeline_workload(),              // pipeline
      mnist_cnn_pipeline_workload(),    // mnist_cnn_pipeline
      resnet50_pipeline_workload(),     // resnet50_pipeline
      gpt_pipeline_workload(),          // gpt_pipeline
      layer_file_pipeline_workload(),   // layer_file_pipeline
      layer_file_training_workload(),   // layer_file_training
      file_workload(),                  // file
  };
  for (WorkloadInfo& info : all) info = with_common_options(with_split(std::move(info)));
  return all;
}

}  // namespace

const std::vector<WorkloadInfo>& workloads() {
  static const std::vector<WorkloadInfo> all = all_workloads();
  return all;
}

TaskGraph make_workload(std::string_view name, const std::map<std::string, OptionValue>& given) {
  std::vector<std::string> names;
  for (const WorkloadInfo& info : workloads()) {
    if (info.name == name) {
      return info.make(resolve_options(fmt::format("workload {}", name), info.options, given));
    }
    names.push_back(info.name);
  }
  refuse_unknown({}, "/kind", fmt::format("the unknown workload \"{}\"", name), name, names);
}

}  // namespace schedlab
