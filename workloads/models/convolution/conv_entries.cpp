// SPDX-License-Identifier: Apache-2.0
#include "workloads/entry_options.hpp"
#include "workloads/models/convolution/conv_nets.hpp"
#include "workloads/workload_entries.hpp"

#include <string>
#include <utility>

namespace schedlab {
namespace {

using detail::size_option;

constexpr std::array<std::string_view, 2> pass_names{"forward", "training"};
constexpr std::array<std::string_view, 2> statistics_names{"per_slice", "synchronized"};

bool normalizes(ConvNetwork network) {
  return network != ConvNetwork::alexnet && network != ConvNetwork::vgg16;
}

std::vector<OptionSpec> conv_options(ConvNetwork network) {
  const ConvNetSpec d;
  constexpr double largest_image = 4096;
  std::vector<OptionSpec> options{
      {.name = "pass",
       .default_value = std::string{"training"},
       .doc = "forward: a trained network; training: forward, loss, backward, updates",
       .allowed = detail::allowed(pass_names)},
      size_option("batch", d.batch, "images at once"),
      detail::split_option(d.split),
      size_option(
          "image", published_image(network), "rows and columns of an image", 1, largest_image),
      size_option("classes", d.classes, "outputs")};
  if (normalizes(network)) {
    options.push_back({.name = "batch_statistics",
                       .default_value = std::string{"per_slice"},
                       .doc = "over what batch normalisation takes mean and variance in training: "
                              "each slice of the batch, or, synchronized, the whole batch",
                       .allowed = detail::allowed(statistics_names)});
  }
  if (network == ConvNetwork::inception_v3) {
    options.push_back({.name = "auxiliary_head",
                       .default_value = d.auxiliary_head,
                       .doc = "the second classifier beside the trunk"});
  }
  options.push_back({.name = "data_type",
                     .default_value = std::string{"fp32"},
                     .doc = "type of all elements",
                     .allowed = enum_names<DataType>()});
  detail::add_training_options(options, d.optimizer);
  detail::add_transform_options(options);
  return options;
}

TaskGraph make_conv_net(ConvNetwork network, const Options& o) {
  ConvNetSpec spec;
  spec.network = network;
  spec.pass = detail::name_to(pass_names, o.text("pass"), ConvNetPass::training);
  spec.batch = o.integer("batch");
  spec.split = o.integer("split");
  spec.image = o.integer("image");
  spec.classes = o.integer("classes");
  if (normalizes(network)) {
    spec.statistics =
        detail::name_to(statistics_names, o.text("batch_statistics"), BatchStatistics::per_slice);
  }
  if (network == ConvNetwork::inception_v3) spec.auxiliary_head = o.flag("auxiliary_head");
  spec.type = enum_value<DataType>(o.text("data_type"));
  spec.optimizer = detail::optimizer_from(o);
  spec.transfers = o.flag("include_transfers");
  spec.tensors = o.flag("include_tensors");
  spec.transforms = detail::transforms_from(o, spec.type);
  return conv_net(spec);
}

WorkloadInfo conv_workload(ConvNetwork network, std::string summary) {
  return {.name = std::string{to_string(network)},
          .summary = std::move(summary),
          .options = conv_options(network),
          .make = [network](const Options& o) { return make_conv_net(network, o); }};
}

}  // namespace

WorkloadInfo alexnet_workload() {
  return conv_workload(ConvNetwork::alexnet,
                       "AlexNet, operator by operator: five convolutions in two groups, response "
                       "normalisation, three dense layers");
}
WorkloadInfo vgg16_workload() {
  return conv_workload(ConvNetwork::vgg16,
                       "VGG-16, operator by operator: thirteen convolutions of 3 x 3, three dense "
                       "layers");
}
WorkloadInfo resnet50_workload() {
  return conv_workload(ConvNetwork::resnet50,
                       "ResNet-50, operator by operator: 16 bottleneck blocks with shortcuts");
}
WorkloadInfo resnet101_workload() {
  return conv_workload(ConvNetwork::resnet101,
                       "ResNet-101, operator by operator: 33 bottleneck blocks with shortcuts");
}
WorkloadInfo inception_v3_workload() {
  return conv_workload(ConvNetwork::inception_v3,
                       "Inception-v3, operator by operator: blocks of branches side by side");
}
WorkloadInfo inception_v4_workload() {
  return conv_workload(ConvNetwork::inception_v4,
                       "Inception-v4, operator by operator: blocks of branches side by side");
}

}  // namespace schedlab
