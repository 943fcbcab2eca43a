// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/convolution/conv_nets.hpp"

#include "sim/base/error.hpp"
#include "workloads/registry.hpp"
#include "workloads/transforms/data_parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace schedlab;

namespace {

ConvNetSpec spec_of(ConvNetwork network, std::int64_t batch = 1) {
  ConvNetSpec spec;
  spec.network = network;
  spec.batch = batch;
  return spec;
}

double flops_of(const TaskGraph& graph, const std::vector<std::string>& operations) {
  double flops = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (std::find(operations.begin(), operations.end(), operation.name) != operations.end()) {
      flops += operation.flops().count();
    }
  }
  return flops;
}

double multiply_adds(ConvNetwork network) {
  ConvNetSpec spec = spec_of(network);
  spec.pass = ConvNetPass::forward;
  return flops_of(conv_net(spec), {"conv_forward", "dense_forward"}) / 2;
}

std::size_t count(const TaskGraph& graph, std::string_view operation) {
  std::size_t tasks = 0;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name == operation) ++tasks;
  }
  return tasks;
}

bool needs(const TaskGraph& graph, std::string_view task, std::string_view before) {
  const TaskId from = graph.find(before);
  REQUIRE(graph.find(task).valid());
  REQUIRE(from.valid());
  const auto all = graph.predecessors(graph.find(task));
  return std::find(all.begin(), all.end(), from) != all.end();
}

std::vector<std::string> predecessor_names(const TaskGraph& graph, std::string_view task) {
  std::vector<std::string> names;
  REQUIRE(graph.find(task).valid());
  for (const TaskId before : graph.predecessors(graph.find(task))) {
    names.push_back(graph.name(before));
  }
  return names;
}

constexpr std::array<ConvNetwork, 6> all_networks{ConvNetwork::alexnet,
                                                  ConvNetwork::vgg16,
                                                  ConvNetwork::resnet50,
                                                  ConvNetwork::resnet101,
                                                  ConvNetwork::inception_v3,
                                                  ConvNetwork::inception_v4};

}  // namespace

TEST_CASE("AlexNet has the parameters of its table") {
  // Convolutions, filters x (window x channels of one group + bias): 96 x (11 x 11 x 3 + 1) =
  // 34,944; 256 x (25 x 48 + 1) = 307,456; 384 x (9 x 256 + 1) = 885,120; 384 x (9 x 192 + 1) =
  // 663,936; 256 x (9 x 192 + 1) = 442,624. Dense: 4096 x (256 x 6 x 6 + 1) = 37,752,832; 4096 x
  // 4097 = 16,781,312; 1000 x 4097 = 4,097,000. The paper says 60 million.
  CHECK(parameter_count(spec_of(ConvNetwork::alexnet)) ==
        34'944 + 307'456 + 885'120 + 663'936 + 442'624 + 37'752'832 + 16'781'312 + 4'097'000);
}

TEST_CASE("networks have as many parameters as their public implementations") {
  CHECK(parameter_count(spec_of(ConvNetwork::alexnet)) == 60'965'224);  // Caffe's bvlc_alexnet
  // torchvision's model pages; of inception_v3 27,161,264 with the auxiliary head
  CHECK(parameter_count(spec_of(ConvNetwork::vgg16)) == 138'357'544);
  CHECK(parameter_count(spec_of(ConvNetwork::resnet50)) == 25'557'032);
  CHECK(parameter_count(spec_of(ConvNetwork::resnet101)) == 44'549'160);
  ConvNetSpec v3 = spec_of(ConvNetwork::inception_v3);
  CHECK(parameter_count(v3) == 23'834'568);
  v3.auxiliary_head = true;
  CHECK(parameter_count(v3) == 27'161'264);
  CHECK(parameter_count(spec_of(ConvNetwork::inception_v4)) == 42'679'816);  // timm: 42.68 M
}

TEST_CASE("networks multiply and add as often as published") {
  // Positions x weights of each convolution: 55^2 x 34,848 + 27^2 x 307,200 + 13^2 x (884,736 +
  // 663,552 + 442,368), and the weights of the dense layers, 37,748,736 + 16,777,216 + 4,096,000.
  CHECK(multiply_adds(ConvNetwork::alexnet) ==
        105'415'200.0 + 223'948'800 + 169.0 * 1'990'656 + 58'621'952);
  // 13 convolutions: 224^2 x 9 x (3 x 64 + 64^2) + 112^2 x 9 x (64 x 128 + 128^2) + 56^2 x 9 x (128
  // x 256 + 2 x 256^2) + 28^2 x 9 x (256 x 512 + 2 x 512^2) + 14^2 x 9 x 3 x 512^2, dense: 7 x 7 x
  // 512 x 4096 + 4096^2 + 4096 x 1000.
  CHECK(multiply_adds(ConvNetwork::vgg16) ==
        50'176.0 * 9 * 4'288 + 12'544.0 * 9 * 24'576 + 3'136.0 * 9 * 163'840 + 784.0 * 9 * 655'360 +
            196.0 * 9 * 786'432 + 102'760'448 + 16'777'216 + 4'096'000);
  // He et al., table 1, "FLOPs" (multiply-adds): 3.8 and 7.6 billion, printed with two digits.
  CHECK(multiply_adds(ConvNetwork::resnet50) == doctest::Approx(3.8e9).epsilon(0.02));
  CHECK(multiply_adds(ConvNetwork::resnet101) == doctest::Approx(7.6e9).epsilon(0.01));
  // Bianco et al., IEEE Access 6, 2018 and torchvision's model page: 5.7 and 12.3 billion.
  CHECK(multiply_adds(ConvNetwork::inception_v3) == doctest::Approx(5.7e9).epsilon(0.01));
  CHECK(multiply_adds(ConvNetwork::inception_v4) == doctest::Approx(12.3e9).epsilon(0.01));
}

TEST_CASE("each gradient of a convolution is as much work as the convolution") {
  for (const ConvNetwork network : all_networks) {
    CAPTURE(to_string(network));
    const TaskGraph graph = conv_net(spec_of(network, 4));
    const double forward = flops_of(graph, {"conv_forward"});
    CHECK(flops_of(graph, {"conv_weight_gradient"}) == forward);
    // The image gets no gradient: all but the convolutions that read it, one in each network.
    CHECK(count(graph, "conv_data_gradient") == count(graph, "conv_forward") - 1);
    CHECK(flops_of(graph, {"conv_data_gradient"}) < forward);
    CHECK(flops_of(graph, {"dense_data_gradient"}) == flops_of(graph, {"dense_forward"}));
    CHECK(count(graph, "relu") == count(graph, "relu_gradient"));
    CHECK(graph.topologically_numbered());
  }
}

TEST_CASE("a batch normalisation takes 8 FLOP per element forward and 11 backward") {
  const TaskGraph graph = conv_net(spec_of(ConvNetwork::resnet50, 2));
  // conv1's: 2 images of 64 x 112 x 112. Layer 0 is the image, 1 the convolution.
  const double elements = 2.0 * 64 * 112 * 112;
  CHECK(graph.operation(graph.find("batch_norm(2)")).flops().count() == 8 * elements);
  CHECK(graph.operation(graph.find("batch_norm_gradient(2)")).flops().count() == 11 * elements);
}

TEST_CASE("gradients of AlexNet need what they are made from") {
  const TaskGraph graph = conv_net(spec_of(ConvNetwork::alexnet, 2));
  // 1 convolution, 2 bias, 3 relu, 4 response normalisation, 5 pooling, 6 convolution, ...
  CHECK(predecessor_names(graph, "conv_forward(1)") == std::vector<std::string>{"transfer_in(0)"});
  CHECK(predecessor_names(graph, "bias_add(2)") == std::vector<std::string>{"conv_forward(1)"});
  CHECK(needs(graph, "conv_weight_gradient(6)", "max_pool(5)"));
  CHECK(needs(graph, "conv_data_gradient(6)", "relu_gradient(8)"));
  CHECK_FALSE(needs(graph, "conv_data_gradient(6)", "max_pool(5)"));
  CHECK(needs(graph, "max_pool_gradient(5)", "conv_data_gradient(6)"));
  CHECK(needs(graph, "max_pool_gradient(5)", "response_norm(4)"));
  CHECK(needs(graph, "relu_gradient(3)", "relu(3)"));
  // The update overwrites what the data gradient reads.
  CHECK(predecessor_names(graph, "update(6)") ==
        std::vector<std::string>{"conv_data_gradient(6)", "conv_weight_gradient(6)"});
  CHECK_FALSE(graph.find("conv_data_gradient(1)").valid());
  CHECK(count(graph, "update") == 16);  // 8 layers with weights and bias
}

TEST_CASE("both ways into a residual sum get its gradient, and what both read adds theirs") {
  const TaskGraph graph = conv_net(spec_of(ConvNetwork::resnet50, 2));
  // Stem 1-4; first block: convolutions at 5, 8, 11 (normalised at 12), shortcut 13 and 14, sum
  // 15, relu 16.
  CHECK(graph.find("add(15)").valid());
  CHECK(needs(graph, "batch_norm_gradient(14)", "relu_gradient(16)"));
  CHECK(needs(graph, "batch_norm_gradient(12)", "relu_gradient(16)"));
  CHECK(predecessor_names(graph, "gradient_sum(4)") ==
        std::vector<std::string>{"conv_data_gradient(13)", "conv_data_gradient(5)"});
  // Every block's input is read twice: 16 sums.
  CHECK(count(graph, "gradient_sum") == 16);
}

TEST_CASE("branches of an Inception block meet in a join, whose gradient is taken apart") {
  const TaskGraph graph = conv_net(spec_of(ConvNetwork::inception_v3, 2));
  // 11 blocks; the two of kind E join 1 x 3 and 3 x 1 twice each.
  CHECK(count(graph, "concat") == 15);
  CHECK(count(graph, "concat_gradient") == 15);
  TaskId last = TaskId::none();  // that of the highest layer: the last block of kind E
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name != "concat_gradient") continue;
    if (!last.valid() || graph.tags(task).layer > graph.tags(last).layer) last = task;
  }
  REQUIRE(last.valid());
  // To the branch of 1 x 1 and of the pooled map, and to the two joins inside.
  CHECK(graph.successors(last).size() == 4);
}

TEST_CASE("a trained network runs forward only") {
  ConvNetSpec spec = spec_of(ConvNetwork::resnet50, 2);
  spec.pass = ConvNetPass::forward;
  const TaskGraph graph = conv_net(spec);
  CHECK(count(graph, "update") == 0);
  CHECK(count(graph, "loss") == 0);
  CHECK(count(graph, "softmax") == 1);
  for (const TaskId task : graph.tasks()) {
    CHECK(graph.operation(task).task_class != TaskClass::weight_gradient);
  }
}

TEST_CASE("without tensors the same tasks have the same dependencies") {
  ConvNetSpec spec = spec_of(ConvNetwork::inception_v3, 3);
  const TaskGraph with = conv_net(spec);
  spec.tensors = false;
  const TaskGraph without = conv_net(spec);
  CHECK(without.tensors().empty());
  REQUIRE(with.task_count() == without.task_count());
  for (const TaskId task : with.tasks()) {
    CHECK(std::ranges::equal(with.predecessors(task), without.predecessors(task)));
  }
}

TEST_CASE("images that are too small are refused with the network and the window") {
  std::string message;
  try {
    (void)make_workload("inception_v3", {{"image", std::int64_t{40}}});
  } catch (const InfeasibleError& error) {
    message = error.what();
  }
  CHECK(message.find("inception_v3: an image of 40 x 40 is too small; a window of 3 x 3") == 0);
}

TEST_CASE("data parallelism sums the gradient of every parameter, those of normalisations too") {
  for (const std::int64_t split : {1, 2}) {
    ConvNetSpec spec = spec_of(ConvNetwork::resnet50, 2);
    spec.split = split;
    const TaskGraph ranks = DataParallel{{.ranks = 2}}.apply(conv_net(spec));
    std::int64_t bytes = 0;
    for (const CollectiveId id : ranks.collectives().ids()) {
      bytes += ranks.collectives().spec(id).bytes.count();
    }
    CHECK(bytes == 4 * 25'557'032);  // of fp32
  }
}
