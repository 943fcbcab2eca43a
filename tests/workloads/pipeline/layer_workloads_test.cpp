// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_workloads.hpp"

#include "sim/base/error.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

using namespace schedlab;
using namespace schedlab::literals;

namespace {

LayerGraph layers(const char* kind, const std::map<std::string, OptionValue>& given = {}) {
  return make_layers(kind, given).graph;
}

const Layer& named(const LayerGraph& graph, std::string_view name) {
  const auto found = std::find_if(graph.layers.begin(),
                                  graph.layers.end(),
                                  [&](const Layer& layer) { return layer.name == name; });
  REQUIRE(found != graph.layers.end());
  return *found;
}

Flops flops(const LayerGraph& graph, OperationId operation) {
  return operation.valid() ? graph.operations[operation].flops() : Flops{0};
}

Bytes kept(const LayerGraph& graph) {
  return std::accumulate(
      graph.layers.begin(), graph.layers.end(), Bytes{0}, [](Bytes sum, const Layer& layer) {
        return sum + layer.kept;
      });
}

}  // namespace

TEST_CASE("the MNIST network has the published layers, parameters and products") {
  const LayerGraph net = layers("mnist_cnn", {{"samples", std::int64_t{100}}});
  std::vector<std::string> names;
  for (const Layer& layer : net.layers) names.push_back(layer.name);
  CHECK(names ==
        std::vector<std::string>{
            "conv_1", "conv_2", "max_pool_1", "dropout_1", "dense_1", "dropout_2", "dense_2"});
  // 3 * 3 * 32 + 32, 3 * 3 * 32 * 64 + 64, 12 * 12 * 64 * 128 + 128, 128 * 10 + 10.
  CHECK(named(net, "conv_1").parameters == 4_B * 320);
  CHECK(named(net, "conv_2").parameters == 4_B * 18'496);
  CHECK(named(net, "dense_1").parameters == 4_B * 1'179'776);
  CHECK(named(net, "dense_2").parameters == 4_B * 1'290);
  CHECK(parameter_bytes(net) == 4_B * 1'199'882);
  // 28 - 2 = 26 rows, 24 rows, pooled to 12; each output of conv_2 is a sum of 9 * 32 products,
  // and has a bias and a rectifier.
  const double outputs = 100.0 * 24 * 24 * 64;
  CHECK(flops(net, named(net, "conv_2").forward) == Flops{outputs * (2 * 288 + 2)});
  CHECK(flops(net, named(net, "conv_2").backward_data) == Flops{outputs * (2 * 288 + 1)});
  CHECK(named(net, "conv_2").activation == 4_B * (100 * 24 * 24 * 64));
  CHECK(named(net, "max_pool_1").activation == 4_B * (100 * 12 * 12 * 64));
  // The image is kept by the layer that reads it, besides that layer's output; it gets no gradient.
  CHECK(named(net, "conv_1").kept == 4_B * (100 * (28 * 28 + 26 * 26 * 32)));
  CHECK(flops(net, named(net, "conv_1").backward_data) == Flops{100.0 * 26 * 26 * 32});
  CHECK(named(net, "dense_2").activation == 0_B);  // the loss goes nowhere
}

TEST_CASE("a GPT of system S5 has 40 million parameters on one node") {
  // Words 13312 * 1024, positions 1024 * 1024, two blocks of 12 h^2 + 13 h, a norm of 2 h.
  const std::int64_t block = 12 * 1024 * 1024 + 13 * 1024;
  const std::int64_t rest = 13312 * 1024 + 1024 * 1024 + 2 * 1024;
  const LayerGraph one = layers("gpt");
  CHECK(parameter_bytes(one) == 4_B * (2 * block + rest));
  CHECK((2 * block + rest) / 1'000'000 == 39);
  const LayerGraph apart = layers("gpt", {{"tied", false}});
  CHECK(parameter_bytes(apart) == 4_B * (2 * block + rest + 13312 * 1024));
  CHECK(named(one, "embedding").tied == named(one, "logits").tied);
}

TEST_CASE("sparse attention looks at the own stride and at some tokens of each one before") {
  GptSpec spec;
  // Eight strides of 128: on average (128 + 1) / 2 of the own one and 8 * (0 + ... + 7) / 8.
  CHECK(mean_keys(spec) == 93);  // 64.5 + 28 = 92.5
  spec.stride = 0;
  CHECK(mean_keys(spec) == 513);  // (1024 + 1) / 2 = 512.5
  spec.window = 4;
  spec.stride = 2;
  spec.expressivity = 1;
  CHECK(mean_keys(spec) == 2);  // 1, 2, then 1 + 1, 2 + 1: 8 / 4
}

TEST_CASE("a GPT cut into operators does the same work as in blocks") {
  const std::map<std::string, OptionValue> three{{"blocks", std::int64_t{3}}};
  auto fine = three;
  fine["granularity"] = std::string{"operator"};
  const LayerGraph blocks = layers("gpt", three);
  const LayerGraph operators = layers("gpt", fine);
  CHECK(blocks.layers.size() == 3 + 4);
  CHECK(operators.layers.size() == 3 * 7 + 4);
  const auto forward_flops = [](const LayerGraph& graph) {
    Flops sum{};
    for (const Layer& layer : graph.layers) {
      if (layer.forward.valid()) sum += graph.operations[layer.forward].flops();
    }
    return sum;
  };
  CHECK(forward_flops(blocks) == forward_flops(operators));
  CHECK(parameter_bytes(blocks) == parameter_bytes(operators));
  CHECK(kept(blocks) == kept(operators));
  // Each block's input skips to its projection, and the sum there to the end of the block.
  const Layer& projection = named(operators, "block_1.projection");
  REQUIRE(projection.inputs.size() == 2);
  CHECK(operators.layers[projection.inputs[1]].name == "block_0.ffn_down");
  CHECK(operators.layers[named(operators, "block_1.ffn_down").inputs[1]].name ==
        "block_1.projection");
}

TEST_CASE("Inception has branches, ResNet shortcuts") {
  const LayerGraph inception = layers("inception_v3", {{"samples", std::int64_t{1}}});
  CHECK(named(inception, "concat_1").inputs.size() == 4);
  const LayerGraph resnet = layers("resnet50", {{"samples", std::int64_t{1}}});
  CHECK(named(resnet, "add_1").inputs.size() == 2);
  // The published 25,557,032 with biases of the classifier only.
  CHECK(parameter_bytes(resnet) == 4_B * 25'557'032);
}

TEST_CASE("every model can be written and read again") {
  for (const LayerWorkload& workload : layer_workloads()) {
    if (workload.name == "file") continue;
    CAPTURE(workload.name);
    const LayerGraph graph = layers(workload.name.c_str(), {{"samples", std::int64_t{2}}});
    CHECK_NOTHROW(check_layers(graph, workload.name));
    const LayerGraph again = read_layers_json(write_layers_json(graph), "again.json");
    REQUIRE(again.layers.size() == graph.layers.size());
    CHECK(again.samples == 2);
    for (const LayerId id : graph.layers.ids()) {
      const Layer& a = graph.layers[id];
      const Layer& b = again.layers[id];
      CAPTURE(a.name);
      CHECK(a.name == b.name);
      CHECK(a.inputs == b.inputs);
      CHECK(a.tied == b.tied);
      CHECK(a.kept == b.kept);
      CHECK(flops(graph, a.backward_weight) == flops(again, b.backward_weight));
    }
    CHECK(write_layers_json(again) == write_layers_json(graph));
  }
}

TEST_CASE("layers by hand are read, wrong ones refused with their place") {
  const std::string good = R"({"schedlab": "layers", "version": 1, "samples": 4, "layers": [
    {"name": "a", "forward_us": 1.5, "parameter_bytes": 8, "tied": "w"},
    {"name": "b", "needs": ["a"], "backward_data_us": 2, "transfer_us": 0.25, "kept_bytes": 3}]})";
  const LayerGraph graph = read_layers_json(good, "net.json");
  CHECK(graph.name == "net.json");
  CHECK(graph.samples == 4);
  const auto times = layer_times(graph);
  CHECK(times[LayerId{0}].forward == 1500ns);
  CHECK(times[LayerId{1}].microbatch() == 2us);
  CHECK(graph.layers[LayerId{1}].transfer == 250ns);
  CHECK(graph.layers[LayerId{1}].inputs == std::vector<LayerId>{LayerId{0}});

  const auto refused = [&](const std::string& from, const std::string& to, const char* message) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(static_cast<void>(read_layers_json(text, "net.json")),
                         doctest::Contains(message),
                         InputError);
  };
  refused("[\"a\"]", "[\"aa\"]", "net.json: /layers/1/needs/0: found \"aa\"");
  refused("forward_us", "foward_us", "did you mean \"forward_us\"");
  refused("1.5", "-1.5", "/layers/0/forward_us: found -1.5");
  refused("\"parameter_bytes\": 8", "\"parameter_bytes\": 8.5", "a whole number");
  refused("\"version\": 1", "\"version\": 2", "/version");
  refused("}]}", "}]", "expected valid JSON");
  refused("\"name\": \"b\"", "\"name\": \"a\"", "second time");
  refused("\"forward_us\": 1.5",
          "\"forward_us\": 1.5, \"forward_kernels\": []",
          "both forward_us and forward_kernels");
}

TEST_CASE("a profile of PipeDream: milliseconds and bytes, the input left out") {
  const std::string text =
      "node1 -- Input -- forward_compute_time=635.9, backward_compute_time=0.0, "
      "activation_size=10.0, parameter_size=0.000\n"
      "node2 -- LSTM(4, 5) -- forward_compute_time=2.5, backward_compute_time=4.0, "
      "activation_size=[6.0; 2.0], parameter_size=100.0\n"
      "node3 -- ReLU(inplace) -- forward_compute_time=1.0, backward_compute_time=3.0, "
      "activation_size=8.0, parameter_size=0.0\n"
      "\tnode1 -- node2\n\tnode2 -- node3";
  const LayerGraph graph = read_pipedream_profile(text, "net.txt");
  REQUIRE(graph.layers.size() == 2);
  const Layer& lstm = graph.layers[LayerId{0}];
  CHECK(lstm.name == "node2 LSTM");
  CHECK(lstm.activation == 8_B);  // both tensors
  CHECK(lstm.parameters == 100_B);
  CHECK(lstm.inputs.empty());
  const auto times = layer_times(graph);
  CHECK(times[LayerId{0}] ==
        LayerTimes{
            .forward = 2500us, .backward_data = 2000us, .backward_weight = 2000us, .update = 0us});
  CHECK(times[LayerId{1}].backward_data == 3000us);  // no parameters, no gradient of them
  CHECK(graph.layers[LayerId{1}].inputs == std::vector<LayerId>{LayerId{0}});

  CHECK_THROWS_WITH_AS(
      static_cast<void>(read_pipedream_profile(text + "\nnode3 -- node9", "net.txt")),
      doctest::Contains("net.txt: line 6: found an edge of \"node9\""),
      InputError);
  std::string wrong = text;
  wrong.replace(wrong.find("=2.5"), 4, "=x.5");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_pipedream_profile(wrong, "net.txt")),
                       doctest::Contains("line 2: found forward_compute_time=x.5"),
                       InputError);
}

TEST_CASE("a graph of the partitioning study: forward only, transfers as it says") {
  const std::string text = R"({"maxFPGAs": 6, "maxCPUs": 1, "maxSizePerFPGA": 1e3, "nodes": [
    {"id": 4, "name": "x", "fpgaLatency": 0.5, "cpuLatency": 9, "size": 70, "supportedOnFpga": 1},
    {"id": 2, "name": "y", "fpgaLatency": 0, "size": 0}],
    "edges": [{"sourceId": 4, "destId": 2, "cost": 0.25, "size": 12}]})";
  const LayerFile file = read_partitioning_json(text, "bert.json");
  CHECK(file.accelerators == 6);
  CHECK(file.memory == 1000_B);
  CHECK(file.forward_only);
  const Layer& x = file.graph.layers[LayerId{0}];
  CHECK(x.transfer == 250us);
  CHECK(x.activation == 12_B);
  CHECK(layer_times(file.graph)[LayerId{0}].forward == 500us);
  std::string backward = text;
  backward.replace(backward.find("\"size\": 70"), 10, "\"isBackwardNode\": 1");
  CHECK_THROWS_WITH_AS(static_cast<void>(read_partitioning_json(backward, "bert.json")),
                       doctest::Contains("/nodes/0: found a node of the backward pass"),
                       InputError);
  REQUIRE(file.notes.size() == 1);
  CHECK(file.notes[0].find("maxCPUs 1 is not used") != std::string::npos);
}

TEST_CASE("graphs of the partitioning study may say true and false") {
  const auto read = [](const std::string& node) {
    try {
      static_cast<void>(
          read_partitioning_json(R"({"maxFPGAs": 6, "nodes": [{"id": 1, "fpgaLatency": 1, )" +
                                     node + R"(}], "edges": []})",
                                 "net.json"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(read(R"("supportedOnFpga": true, "isBackwardNode": false)").empty());
  CHECK(read(R"("supportedOnFpga": 1, "isBackwardNode": 0)").empty());
  CHECK(read(R"("isBackwardNode": true)").find("a node of the backward pass") != std::string::npos);
  CHECK(read(R"("supportedOnFpga": false)").find("no accelerator") != std::string::npos);
  CHECK(read(R"("supportedOnFpga": 2)").find("true, false, 1 or 0") != std::string::npos);
  CHECK(read(R"("supportedOnFpga": "yes")").find("/nodes/0/supportedOnFpga") != std::string::npos);
}

TEST_CASE("layers that ranks share are written and read with their collectives") {
  for (const bool sequence_parallel : {false, true}) {
    const LayerGraph graph = layers("gpt",
                                    {{"tensor_parallel", std::int64_t{4}},
                                     {"sequence_parallel", sequence_parallel},
                                     {"samples", std::int64_t{2}}});
    const LayerGraph again = read_layers_json(write_layers_json(graph), "again.json");
    CHECK(again.tensor_parallel == 4);
    for (const LayerId id : graph.layers.ids()) {
      CHECK(again.layers[id].joins == graph.layers[id].joins);
    }
  }
  const auto refused = [](const std::string& collective) {
    try {
      static_cast<void>(read_layers_json(
          R"({"schedlab": "layers", "version": 1, "tensor_parallel": 2, "layers": [
             {"name": "a", "forward_us": 1, "collectives": [)" +
              collective + "]}]}",
          "net.json"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(refused(R"({"pass": "forward", "operation": "all_reduce", "bytes": 8})").empty());
  CHECK(refused(R"({"pass": "update", "operation": "all_reduce", "bytes": 8})")
            .find("/layers/0/collectives/0/pass") != std::string::npos);
  CHECK(refused(R"({"pass": "forward", "operation": "sum", "bytes": 8})").find("all_reduce") !=
        std::string::npos);
  CHECK(refused(R"({"pass": "forward", "kernels": 1, "operation": "all_reduce", "bytes": 8})")
            .find("behind 1 of 0 kernels") != std::string::npos);
}

TEST_CASE(
    "attention of a GPT: all keys cost twice those that are seen, one kernel keeps no weights") {
  const auto gpt = [](const char* attention) {
    return layers("gpt",
                  {{"attention", std::string{attention}},
                   {"granularity", std::string{"operator"}},
                   {"stride", std::int64_t{0}},
                   {"window", std::int64_t{1023}},
                   {"hidden", std::int64_t{1024}}});
  };
  const auto products = [](const LayerGraph& graph) {
    double sum = 0;
    for (const Kernel& kernel :
         graph.operations[named(graph, "block_0.attention").forward].kernels) {
      if (kernel.kind == TaskKind::gemm) sum += kernel.flops.count();
    }
    return sum;
  };
  const LayerGraph seen = gpt("unfused");  // 512 keys of 1023 on average
  const LayerGraph all = gpt("masked");
  const LayerGraph fused = gpt("fused");
  CHECK(products(all) * 512 == doctest::Approx(products(seen) * 1023));
  CHECK(products(fused) == doctest::Approx(products(seen)));
  // A weight for each of 1023 tokens, 16 heads and 512 keys, or a sum for each token and head.
  const auto kept = [](const LayerGraph& graph) {
    return named(graph, "block_0.attention").kept.count();
  };
  CHECK(kept(seen) - kept(fused) ==
        std::int64_t{1023} * 16 * 512 * 4 - std::int64_t{1023} * 16 * 4);
}

TEST_CASE("autocast: fp32 state, weights and loss, and a cast before each product") {
  constexpr std::int64_t h = 256;
  constexpr std::int64_t rows = 3 * 128;
  constexpr std::int64_t words = 1000;
  const auto gpt = [](bool autocast) {
    return layers("gpt",
                  {{"autocast", autocast},
                   {"data_type", std::string{"bf16"}},
                   {"attention", std::string{"fused"}},
                   {"blocks", std::int64_t{1}},
                   {"vocabulary", std::int64_t{words}},
                   {"hidden", std::int64_t{h}},
                   {"heads", std::int64_t{4}},
                   {"stride", std::int64_t{0}},
                   {"expressivity", std::int64_t{1}},
                   {"window", std::int64_t{128}},
                   {"samples", std::int64_t{3}}});
  };
  const LayerGraph pure = gpt(false);
  const LayerGraph cast = gpt(true);
  const auto more = [&](std::string_view layer, OperationId Layer::*pass) {
    const auto bytes = [&](const LayerGraph& graph) {
      std::int64_t sum = 0;
      for (const Kernel& each : graph.operations[named(graph, layer).*pass].kernels) {
        sum += (each.bytes_read + each.bytes_written).count();
      }
      return sum;
    };
    return bytes(cast) - bytes(pure);
  };
  // Of the state, bytes an element: two norms 4 more, two casts of 6, two sums 4 more; backward two
  // norms 6 more, two casts each way, two sums 6 more. Of weights: cast, and their gradients back.
  constexpr std::int64_t state = rows * h;
  constexpr std::int64_t weights = 12 * h * h + 9 * h;
  constexpr std::int64_t norms = 2 * 2 * h * 2;  // scale and shift
  CHECK(more("block_0", &Layer::forward) == 28 * state + 6 * weights + norms);
  CHECK(more("block_0", &Layer::backward_data) == 48 * state + norms);
  CHECK(more("block_0", &Layer::backward_weight) == 6 * weights);
  // Logits are cast, and the loss has its gradient apart: zeros, 12 bytes, a cast.
  CHECK(more("logits", &Layer::forward) == 6 * state + 6 * h * words + (6 + 4) * rows * words);
  CHECK(more("logits", &Layer::backward_data) == 6 * state + (4 + 12 + 6) * rows * words);
  CHECK(named(cast, "block_0").parameters == 2 * named(pure, "block_0").parameters);
  CHECK(named(cast, "block_0").activation == 2 * named(pure, "block_0").activation);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_layers("gpt", {{"autocast", true}})),
                       doctest::Contains("set data_type to bf16 or fp16"),
                       InfeasibleError);
}

/// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, arXiv
/// 2205.05198, equations 1 to 4: bytes of a block in a type of two bytes, s b h (34 + 5 a s / h),
/// over t ranks s b h (10 + 24 / t + 5 a s / (h t)), with sequence parallelism all of it over t;
/// recomputed attention keeps none of 5 a s / h.
TEST_CASE("dropout: a block keeps the published bytes") {
  constexpr std::int64_t s = 128;
  constexpr std::int64_t b = 3;
  constexpr std::int64_t h = 256;
  constexpr std::int64_t a = 4;
  const auto block = [](bool dropout, std::int64_t ranks, bool by_tokens, bool again = false) {
    return named(layers("gpt",
                        {{"dropout", dropout},
                         {"recompute_attention", again},
                         {"data_type", std::string{"fp16"}},
                         {"attention", std::string{"masked"}},
                         {"blocks", std::int64_t{1}},
                         {"hidden", std::int64_t{h}},
                         {"heads", std::int64_t{a}},
                         {"stride", std::int64_t{0}},
                         {"expressivity", std::int64_t{1}},
                         {"window", std::int64_t{s}},
                         {"samples", std::int64_t{b}},
                         {"tensor_parallel", ranks},
                         {"sequence_parallel", by_tokens}}),
                 "block_0")
        .kept.count();
  };
  CHECK(block(true, 1, false) == s * b * (34 * h + 5 * a * s));
  CHECK(block(true, 4, false) == s * b * (10 * h + 24 * h / 4 + 5 * a * s / 4));
  CHECK(block(true, 4, true) == s * b * (34 * h + 5 * a * s) / 4);
  CHECK(block(true, 1, false, true) == s * b * 34 * h);
  CHECK(block(true, 4, true, true) == s * b * 34 * h / 4);
  CHECK(block(false, 1, false) == s * b * (32 * h + 2 * a * s));
}

TEST_CASE("unknown models and options are refused with the closest word") {
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_layers("gptt")), doctest::Contains("\"gpt\""), InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_layers("gpt", {{"block", std::int64_t{3}}})),
                       doctest::Contains("blocks"),
                       InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_layers("gpt", {{"heads", std::int64_t{7}}})),
                       doctest::Contains("not a multiple of heads 7"),
                       InfeasibleError);
}
