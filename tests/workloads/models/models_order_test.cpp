// SPDX-License-Identifier: Apache-2.0
// What follows what in models.
#include "sim/graph/levels.hpp"
#include "tests/workloads/models/small_models.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using namespace schedlab;
using namespace schedlab::test;

namespace {

using Names = std::vector<std::string>;

constexpr std::array<Granularity, 4> granularities{
    Granularity::coarse, Granularity::fine, Granularity::matmul, Granularity::data_and_weight};

/// Names of operations for tasks without a layer, of tasks for all others.
Names predecessors(const TaskGraph& graph, TaskId task) {
  REQUIRE(task.valid());
  Names names;
  for (const TaskId before : graph.predecessors(task)) {
    names.push_back(graph.tags(before).layer < 0 ? graph.operation(before).name
                                                 : graph.name(before));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Names predecessors(const TaskGraph& graph, std::string_view name) {
  return predecessors(graph, graph.find(name));
}

/// Without the forward tasks whose activations a gradient node reads.
Names gradient_predecessors(const TaskGraph& graph, std::string_view name) {
  Names names = predecessors(graph, name);
  names.erase(std::remove_if(names.begin(),
                             names.end(),
                             [](const std::string& n) { return n.rfind("cell_forward", 0) == 0; }),
              names.end());
  return names;
}

bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Every model in every granularity.
void for_each_model(const std::function<void(const TaskGraph&, Granularity)>& visit) {
  for (const Granularity granularity : granularities) {
    CAPTURE(static_cast<int>(granularity));
    GnmtSpec translation = small_gnmt();
    translation.model.cut.granularity = granularity;
    for (const std::int64_t chunk : {0, 1, 3}) {
      translation.attention_steps = chunk;
      visit(gnmt(translation), granularity);
    }
    OpennmtSpec open = small_opennmt();
    open.model.cut.granularity = granularity;
    for (const bool feed : {true, false}) {
      open.input_feed = feed;
      visit(opennmt(open), granularity);
    }
    SentimentLstmSpec sentiment = small_sentiment();
    sentiment.model.cut.granularity = granularity;
    for (const auto both : {Bidirectional::none, Bidirectional::first, Bidirectional::all}) {
      sentiment.bidirectional = both;
      visit(sentiment_lstm(sentiment), granularity);
    }
  }
}

}  // namespace

TEST_CASE("models are topologically numbered and every tensor is made before it is used") {
  for_each_model([](const TaskGraph& graph, Granularity granularity) {
    CHECK(graph.topologically_numbered());
    const TensorTable& tensors = graph.tensors();
    for (const TensorId id : tensors.ids()) {
      CAPTURE(tensors.name(id));
      if (tensors.persistent(id)) continue;
      CHECK_FALSE(tensors.writers(id).empty());
      // Inside a whole node, what no other task reads: gate gradients, states and gradients of
      // residual layers, whose sums leave the node in their place.
      const std::string name = tensors.name(id);
      const bool inside =
          (granularity == Granularity::coarse && name.rfind("dG", 0) == 0) ||
          ((granularity == Granularity::coarse || granularity == Granularity::data_and_weight) &&
           (name.rfind("h(", 0) == 0 || name.rfind("dx(", 0) == 0));
      if (!inside) CHECK_FALSE(tensors.readers(id).empty());
    }
  });
}

TEST_CASE("every task but the first follows something and every task but the last is followed") {
  for_each_model([](const TaskGraph& graph, Granularity) {
    for (const TaskId task : graph.tasks()) {
      CAPTURE(graph.name(task));
      const Operation& operation = graph.operation(task);
      const bool entry = operation.name == "transfer_in" ||
                         (graph.tags(task).layer >= 0 && operation.name == "recurrent_gemm");
      if (!entry) CHECK_FALSE(graph.predecessors(task).empty());
      const bool exit = operation.task_class == TaskClass::update ||
                        operation.name == "transfer_out" || operation.name == "hidden_1";
      if (!exit) CHECK_FALSE(graph.successors(task).empty());
    }
  });
}

TEST_CASE("updates follow all readers of what they overwrite") {
  for_each_model([](const TaskGraph& graph, Granularity) {
    const IdVector<TaskId, std::uint32_t> level = levels(graph);
    int updates = 0;
    for (const TensorId id : graph.tensors().ids()) {
      const std::string name = graph.tensors().name(id);
      std::string update;
      if (name.rfind("W_", 0) == 0) update = "update_" + name.substr(2);
      if (update.empty()) continue;
      const TaskId task = find_operation(graph, update);
      REQUIRE(task.valid());
      ++updates;
      for (const TaskId reader : graph.tensors().readers(id)) CHECK(level[reader] < level[task]);
    }
    CHECK(updates >= 2);
  });
}

TEST_CASE("GNMT's decoder reads the context in all layers but the first") {
  GnmtSpec spec = small_gnmt();
  spec.attention_steps = 1;
  const TaskGraph graph = gnmt(spec);
  // Chains: 0, 1 the directions of encoder layer 0; 2, 3, 4 the others; 5 .. 8 the decoder.
  CHECK(predecessors(graph, "input_gemm(2,1)") == Names{"cell_forward(0,1)", "cell_forward(1,1)"});
  CHECK(predecessors(graph, "residual(3,1)") == Names{"cell_forward(2,1)", "cell_forward(3,1)"});
  CHECK(predecessors(graph, "residual(4,1)") == Names{"cell_forward(4,1)", "residual(3,1)"});
  CHECK(predecessors(graph, "input_gemm(5,1)") == Names{"target_embedding"});
  CHECK(predecessors(graph, "input_gemm(6,1)") == Names{"attention_context", "cell_forward(5,1)"});
  CHECK(predecessors(graph, "input_gemm(8,1)") == Names{"attention_context", "residual(7,1)"});
  CHECK(graph.operation(graph.find("input_gemm(6,1)")).kernels[0].k == 2 * 3);
  // Backward: layer 2 of the decoder passes its gradient on around itself and through itself.
  CHECK(predecessors(graph, "residual_gradient(7,1)") ==
        Names{"hidden_2(7,1)", "residual_gradient(8,1)"});
  CHECK(gradient_predecessors(graph, "cell(6,1)") ==
        Names{"cell(6,2)", "hidden_1(6,2)", "residual_gradient(7,1)"});
  CHECK(gradient_predecessors(graph, "cell(5,1)") ==
        Names{"attention_query_gradient", "cell(5,2)", "hidden_1(5,2)", "hidden_2(6,1)"});
  CHECK(predecessors(graph, find_operation(graph, "attention_context_gradient")) ==
        Names{"hidden_2(6,3)", "hidden_2(7,3)", "hidden_2(8,3)"});
  // The encoder waits for the sums over all target steps.
  CHECK(gradient_predecessors(graph, "cell(4,4)") ==
        Names{"attention_keys_gradient",
              "attention_values_gradient",  // one adds for each target step
              "attention_values_gradient",
              "attention_values_gradient",
              "attention_values_gradient"});
  CHECK(holds(predecessors(graph, find_operation(graph, "source_embedding_gradient")),
              "target_embedding_gradient"));
}

TEST_CASE("input feeding makes attention part of OpenNMT's recurrence") {
  const TaskGraph graph = opennmt(small_opennmt());
  // Chains 0, 1: encoder; 2, 3: decoder, which starts where the encoder ended.
  CHECK(predecessors(graph, "input_gemm(2,0)") == Names{"target_embedding"});
  CHECK(predecessors(graph, "input_gemm(2,1)") == Names{"attention_tanh", "target_embedding"});
  CHECK(predecessors(graph, "recurrent_gemm(2,0)") == Names{"cell_forward(0,4)"});
  CHECK(predecessors(graph, "recurrent_gemm(3,0)") == Names{"cell_forward(1,4)"});
  CHECK(gradient_predecessors(graph, "cell(0,4)") ==
        Names{"cell(2,0)", "hidden_1(2,0)", "hidden_2(1,4)"});
  CHECK(gradient_predecessors(graph, "cell(3,3)") ==
        Names{"attention_output_gradient", "attention_query_gradient"});
  // The first in id order is that of the last step, which nothing follows in the loop.
  CHECK(predecessors(graph, find_operation(graph, "attention_tanh_gradient")) ==
        Names{"attention_tanh", "projection_gradient"});
  int both = 0;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name != "attention_tanh_gradient") continue;
    const Names before = predecessors(graph, task);
    both += before.size() == 3 && before[1].rfind("hidden_2(2,", 0) == 0 ? 1 : 0;
  }
  CHECK(both == 3);
}

TEST_CASE("the loss lies as deep as the recurrences in front of it") {
  const auto level_of_loss = [](const TaskGraph& graph) {
    return static_cast<std::int64_t>(levels(graph)[find_operation(graph, "loss")]);
  };
  const std::int64_t s = 5;
  const std::int64_t t = 4;
  GnmtSpec translation = small_gnmt();
  translation.model.cut.granularity = Granularity::coarse;
  // Before: copy, word vectors; the bidirectional layer, a wavefront over three; keys; scores,
  // softmax, context of all steps; a wavefront over three layers; the classifier.
  CHECK(level_of_loss(gnmt(translation)) == 2 + s + (s + 2) + 1 + 3 + (t + 2) + 1);
  // One attention task per step lets the decoder's layers follow each other; its first layer has
  // long ended when the keys are there.
  translation.attention_steps = 1;
  CHECK(level_of_loss(gnmt(translation)) == 2 + s + (s + 2) + 1 + 3 + (t + 2) + 1);

  OpennmtSpec open = small_opennmt();
  open.layers = 1;
  open.model.cut.granularity = Granularity::coarse;
  // Per target step: node, query, scores, softmax, context, output, tanh.
  CHECK(level_of_loss(opennmt(open)) == 2 + s + 7 * t + 1);
  open.input_feed = false;
  CHECK(level_of_loss(opennmt(open)) == 2 + s + (t + 6) + 1);

  SentimentLstmSpec sentiment = small_sentiment();
  sentiment.model.cut.granularity = Granularity::coarse;
  CHECK(level_of_loss(sentiment_lstm(sentiment)) == 2 + 2 * s + 1);
}

TEST_CASE("only the final states of the classifier get a gradient from outside") {
  const TaskGraph graph = sentiment_lstm(small_sentiment());
  // Chains 2 and 3: the top layer, forward and reverse.
  CHECK(gradient_predecessors(graph, "cell(2,4)") == Names{"projection_gradient"});
  CHECK(gradient_predecessors(graph, "cell(3,0)") == Names{"projection_gradient"});
  CHECK(gradient_predecessors(graph, "cell(2,3)") == Names{"cell(2,4)", "hidden_1(2,4)"});
  // 23 FLOP per element besides the sum of upstream gradients: here none, at the last step one.
  CHECK(graph.operation(graph.find("cell(2,3)")).flops().count() == 23 * 2 * 3);
  CHECK(graph.operation(graph.find("cell(2,4)")).flops().count() == 24 * 2 * 3);
  CHECK(graph.operation(graph.find("cell(0,2)")).flops().count() == 25 * 2 * 3);
  CHECK(predecessors(graph, find_operation(graph, "projection")) ==
        Names{"cell_forward(2,4)", "cell_forward(3,0)"});
}
