// SPDX-License-Identifier: Apache-2.0
// Sizes of models: parameters, products, tensors.
#include "workloads/models/recurrent/models.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "tests/workloads/models/small_models.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;
using namespace schedlab::test;

namespace {

/// Multiply-add work of matrix products, forward and backward: 2mnk of each.
struct GemmFlops {
  double forward = 0;
  double backward = 0;
};

/// Everything up to the loss is forward.
GemmFlops gemm_flops(const TaskGraph& graph) {
  GemmFlops sum;
  bool backward = false;
  for (const TaskId task : graph.tasks()) {
    backward = backward || graph.operation(task).name == "loss";
    for (const Kernel& kernel : graph.operation(task).kernels) {
      if (kernel.kind != TaskKind::gemm) continue;
      (backward ? sum.backward : sum.forward) +=
          2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n * kernel.k);
    }
  }
  return sum;
}

/// Elements of all tensors that hold parameters.
std::int64_t weight_elements(const TaskGraph& graph) {
  std::int64_t elements = 0;
  for (const TensorId id : graph.tensors().ids()) {
    const std::string name = graph.tensors().name(id);
    if (name.rfind("W_", 0) == 0 || name.rfind("Wx(", 0) == 0 || name.rfind("Wh(", 0) == 0) {
      elements += graph.tensors().bytes(id).count() / 4;
    }
  }
  return elements;
}

/// Parameters do not depend on steps.
std::int64_t parameters_of(GnmtSpec spec) {
  spec.source_steps = spec.target_steps = 1;
  spec.model.type = DataType::fp32;
  return weight_elements(gnmt(spec));
}
std::int64_t parameters_of(OpennmtSpec spec) {
  spec.source_steps = spec.target_steps = 1;
  return weight_elements(opennmt(spec));
}
std::int64_t parameters_of(SentimentLstmSpec spec) {
  spec.steps = 1;
  spec.model.type = DataType::fp32;
  return weight_elements(sentiment_lstm(spec));
}

}  // namespace

TEST_CASE("weight tensors have the parameters that public implementations count") {
  // PyTorch and cuDNN keep a second bias for each of the 4 gates of a chain, which adds nothing.
  // MLPerf training's GNMT, vocabulary of 32,317 padded to 32,320: 160,671,297 (test of the
  // distributed optimizer in NVIDIA apex). 4 + 4 layers of 1024, one of two directions: 9 chains.
  CHECK(parameters_of(GnmtSpec{}) + 9 * (4 * 1024) == 160'671'297);
  // OpenNMT-py prints for its quick start: encoder 16,506,500, decoder 41,613,820.
  CHECK(parameters_of(OpennmtSpec{}) + 4 * (4 * 500) == 16'506'500 + 41'613'820);
  // The PyTorch tutorial of the same structure has 25,002 words and 4,810,857 parameters.
  SentimentLstmSpec sentiment;
  sentiment.vocabulary = 25'002;
  CHECK(parameters_of(sentiment) + 4 * (4 * 256) == 4'810'857);
}

TEST_CASE("default models have the parameters that the documentation states") {
  CHECK(parameters_of(GnmtSpec{}) == 160'634'433);
  CHECK(parameters_of(OpennmtSpec{}) == 58'112'320);
  CHECK(parameters_of(SentimentLstmSpec{}) == 42'306'761);
}

TEST_CASE("parameters do not depend on steps, and each is updated once") {
  CHECK(weight_elements(opennmt(small_opennmt())) == parameters_of(small_opennmt()));
  CHECK(weight_elements(sentiment_lstm(small_sentiment())) == parameters_of(small_sentiment()));
  double updated = 0;
  const TaskGraph graph = gnmt(small_gnmt());
  CHECK(weight_elements(graph) == parameters_of(small_gnmt()));
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.task_class == TaskClass::update) updated += operation.flops().count() / 14;
  }
  CHECK(updated == static_cast<double>(weight_elements(graph)));  // Adam: 14 FLOP each
}

TEST_CASE("matrix products of GNMT equal the closed form, and twice that backward") {
  for (const std::int64_t chunk : {0, 1, 3}) {
    GnmtSpec spec = small_gnmt();
    spec.attention_steps = chunk;
    const double h = 3;
    const double b = 2;
    const double s = 5;
    const double t = 4;
    const double v = 7;
    // Inputs and state, 4 gates: two directions of 2h; one of 3h; two of 2h. Decoder: 2h, 3 x 3h.
    const double encoder = 2 * (2 * h) + 3 * h + 2 * (2 * h);
    const double decoder = 2 * h + 3 * (3 * h);
    const double recurrent = 2 * b * 4 * h * (s * encoder + t * decoder);
    const double attention = 2 * b * h * h * (s + t) + 2 * b * t * s * h;  // keys, queries, context
    const double classifier = 2 * t * b * h * v;
    const GemmFlops flops = gemm_flops(gnmt(spec));
    CHECK(flops.forward == recurrent + attention + classifier);
    CHECK(flops.backward == 2 * flops.forward);
  }
}

TEST_CASE("matrix products of OpenNMT equal the closed form, and twice that backward") {
  for (const bool feed : {true, false}) {
    OpennmtSpec spec = small_opennmt();
    spec.input_feed = feed;
    const double h = 3;
    const double e = 4;
    const double b = 2;
    const double s = 5;
    const double t = 4;
    const double recurrent =
        2 * b * 4 * h * (s * ((e + h) + 2 * h) + t * ((e + (feed ? h : 0) + h) + 2 * h));
    // Queries, output of both; scores and contexts.
    const double attention = 2 * t * b * (h * h + 2 * h * h) + 2 * (2 * b * t * s * h);
    const double classifier = 2 * t * b * h * 11;
    const GemmFlops flops = gemm_flops(opennmt(spec));
    CHECK(flops.forward == recurrent + attention + classifier);
    CHECK(flops.backward == 2 * flops.forward);
  }
}

TEST_CASE("matrix products of the classifier equal the closed form, and twice that backward") {
  const double h = 3;
  // Two directions on words of 4 and two on both outputs; 5 steps, batch 2; a dense layer of one.
  const double forward = 2 * 2 * 4 * h * 5 * (2 * (4 + h) + 2 * (2 * h + h)) + 2 * 2 * (2 * h) * 1;
  const GemmFlops flops = gemm_flops(sentiment_lstm(small_sentiment()));
  CHECK(flops.forward == forward);
  CHECK(flops.backward == 2 * forward);
}

TEST_CASE("tensors of the attention have the shapes of their chunk") {
  GnmtSpec spec = small_gnmt();
  spec.attention_steps = 3;
  const TaskGraph graph = gnmt(spec);
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> score_bytes;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    if (operation.name == "attention_query") rows.push_back(operation.kernels[0].m);
    if (operation.name == "attention_score") {
      score_bytes.push_back(operation.bytes_written().count());
    }
  }
  CHECK(rows == std::vector<std::int64_t>{3 * 2, 1 * 2});  // steps 0 to 2, and 3
  CHECK(score_bytes == std::vector<std::int64_t>{4 * 3 * 2 * 5, 4 * 1 * 2 * 5});
  // Each of the batch's products has its own 5 x 3 sources: 2 products of [3, 5] x [5, 3].
  const TaskId context = find_operation(graph, "attention_context");
  CHECK(graph.operation(context).bytes_read() == Bytes{4 * 2 * (3 * 5 + 5 * 3)});
}

TEST_CASE("models without tensors keep their tasks and levels") {
  GnmtSpec with = small_gnmt();
  GnmtSpec without = with;
  without.model.tensors = false;
  CHECK(gnmt(without).tensors().empty());
  CHECK(levels(gnmt(without)) == levels(gnmt(with)));
  OpennmtSpec open = small_opennmt();
  const TaskGraph full = opennmt(open);
  open.model.tensors = false;
  CHECK(levels(opennmt(open)) == levels(full));
  SentimentLstmSpec sentiment = small_sentiment();
  const TaskGraph classifier = sentiment_lstm(sentiment);
  sentiment.model.tensors = false;
  CHECK(levels(sentiment_lstm(sentiment)) == levels(classifier));
}

TEST_CASE("models that are too large or too small are refused") {
  GnmtSpec spec;
  spec.layers = 1;
  CHECK_THROWS_AS((void)gnmt(spec), ContractViolation);
  spec.layers = 20'000;
  CHECK_THROWS_AS((void)gnmt(spec), InfeasibleError);
  spec = GnmtSpec{};
  spec.vocabulary = std::int64_t{1} << 60;
  CHECK_THROWS_AS((void)gnmt(spec), InfeasibleError);
  OpennmtSpec open;
  open.source_steps = std::int64_t{1} << 40;
  CHECK_THROWS_AS((void)opennmt(open), InfeasibleError);
  SentimentLstmSpec sentiment;
  sentiment.classes = std::int64_t{1} << 60;
  CHECK_THROWS_AS((void)sentiment_lstm(sentiment), InfeasibleError);
}
