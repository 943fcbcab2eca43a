// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_training.hpp"

#include "real_exec/ranks/thread_ranks.hpp"
#include "real_exec/training/pipeline_run.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/training/resolved_training.hpp"
#include "studies/training/training_spec.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

ParallelSpec parsed(const char* layers, const std::string& rest, const TemporaryFolder& folder) {
  json spec{{"schedlab", "parallel"},
            {"version", 1},
            {"name", "small"},
            {"layers", json::parse(layers)},
            {"machine", "a100_40gb"},
            {"devices", 2},
            {"batch", 8},
            {"policy", {"pipeline_flush", "pipeline_1f1b"}}};
  spec.merge_patch(json::parse(rest));
  return parse_parallel_spec(spec.dump(), "spec.json", folder.path());
}

const char* const small_gpt = R"({"kind": "gpt", "blocks": 2, "hidden": 32, "heads": 4,
  "vocabulary": 128, "window": 16, "stride": 0, "expressivity": 1, "tied": false})";
const char* const on_text =
    R"({"training": {"data": {"kind": "text", "path": "text.txt"}, "iterations": 2,
                     "verified_iterations": 2}})";

void write_text(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the cat sat on the mat, and so did I. ";
  write_file_atomically(folder.path() / "text.txt", text);
}

ParallelRow row(ParallelChoice choice, std::vector<std::int64_t> cut) {
  ParallelRow made;
  made.choice = std::move(choice);
  made.layers_per_stage = std::move(cut);
  return made;
}

/// Trains on threads; returns the largest difference from the net trained as a whole.
double trained(const TrainingSpec& spec, std::uint32_t ranks) {
  double difference = 1;
  run_on_threads(static_cast<int>(ranks), [&](RankLink& link) {
    const ResolvedTraining resolved = resolve_training(spec, link);
    const PipelineRunResult run = run_pipeline(resolved.training,
                                               resolved.graph,
                                               resolved.plan,
                                               link,
                                               {.iterations = 2, .verified_iterations = 2});
    if (link.rank() == 0) difference = run.gradient_difference;
  });
  return difference;
}

}  // namespace

TEST_CASE("the best plan of a GPT trains as planned, from another folder") {
  const TemporaryFolder folder;
  write_text(folder);
  for (const char* const granularity : {"block", "operator"}) {
    json layers = json::parse(small_gpt);
    layers["granularity"] = granularity;
    json rest = json::parse(on_text);
    rest["stages"] = 2;
    rest["virtual_stages"] = 1;
    rest["tensor_parallel"] = 1;
    const ParallelSpec spec = parsed(layers.dump().c_str(), rest.dump(), folder);
    CHECK_NOTHROW(expect_training(spec));
    const ParallelPlan plan = plan_parallel(spec);
    const std::filesystem::path elsewhere = folder.path() / "out";
    std::filesystem::create_directories(elsewhere);
    const PlannedTraining planned = training_of(plan, elsewhere);
    CHECK(planned.row == 0);
    const TrainingSpec training =
        parse_training_spec(planned.json, "training.json", elsewhere.string());
    CHECK(training.policy == spec.policies[plan.rows[0].policy].name);
    CHECK(training.training.microbatches == plan.rows[0].choice.microbatches);
    CHECK(training.training.batch == 8);
    CHECK(training.ranks() == 2);
    CHECK(training.training.net.layers.size() == 1 + 2 * 10 + 2);
    CHECK(training.iterations == 2);
    CHECK(training.training.setting.optimizer.kind == Optimizer::adam);
    CHECK(trained(training, 2) < 1e-5);
  }
}

TEST_CASE("pairs of micro-batches, one sends while the other computes, train as planned") {
  const TemporaryFolder folder;
  write_text(folder);
  json rest = json::parse(on_text);
  rest.update({{"stages", 2}, {"virtual_stages", 1}, {"tensor_parallel", 1}, {"microbatches", 4}});
  rest["policy"] = "batch_overlap";
  const ParallelSpec spec = parsed(small_gpt, rest.dump(), folder);
  const ParallelPlan plan = plan_parallel(spec);
  const PlannedTraining planned = training_of(plan, folder.path());
  const TrainingSpec training =
      parse_training_spec(planned.json, "training.json", folder.path().string());
  CHECK(training.policy == "batch_overlap");
  CHECK(trained(training, 2) < 1e-5);
}

TEST_CASE("a cut of a model's layers is the cut of the net that is trained") {
  const TemporaryFolder folder;
  write_text(folder);
  const ParallelSpec spec = parsed(small_gpt, on_text, folder);
  ParallelPlan plan;
  plan.spec = &spec;
  // Embedding, positions and a block; a block, the last norm and the classifier.
  const ParallelChoice two{.stages = 2, .microbatches = 2, .samples = 4};
  plan.rows = {row(two, {3, 3})};
  const auto stages = [&] { return json::parse(training_of(plan, {}).json).at("stages"); };
  CHECK(stages() == json{11, 12});
  plan.rows = {row(two, {1, 5})};
  CHECK(stages() == json{1, 22});

  // What ranks cannot train is passed over, and said.
  ParallelChoice shared = two;
  shared.tensor_parallel = 2;
  plan.rows = {row(shared, {3, 3}), row({.stages = 3, .samples = 8}, {1, 1, 4}), row(two, {4, 2})};
  const PlannedTraining third = training_of(plan, {});
  CHECK(third.row == 2);
  CHECK(third.why == "ranks share a stage");
  CHECK(json::parse(third.json).at("stages") == json{21, 2});
  plan.rows.erase(plan.rows.begin());
  CHECK(training_of(plan, {}).why == "a stage has positions alone");
  plan.rows.pop_back();
  CHECK(training_of(plan, {}).json.empty());
}

TEST_CASE("the published net of pictures is trained on noisy ones where no data is given") {
  const TemporaryFolder folder;
  const char* const layers = R"({"kind": "mnist_cnn", "image": 10, "classes": 4})";
  const ParallelSpec spec = parsed(layers, "{}", folder);
  REQUIRE(has_training(spec));
  ParallelPlan plan;
  plan.spec = &spec;
  plan.rows = {row({.replicas = 2, .stages = 2, .microbatches = 2, .samples = 2}, {3, 4})};
  const TrainingSpec training =
      parse_training_spec(training_of(plan, {}).json, "training.json", ".");
  CHECK(training.ranks() == 4);
  CHECK(training.training.net.input == SampleShape{10, 10, 1});
  CHECK(training.layers_per_stage == std::vector<std::int64_t>{3, 4});
  CHECK(training.training.setting.optimizer.kind == Optimizer::sgd);
  // 32 filters of 3 x 3; 64 of these; 3 x 3 x 64 values; 128.
  std::int64_t parameters = 0;
  const std::vector<SampleShape> shapes = layer_shapes(training.training.net);
  for (std::size_t i = 0; i < training.training.net.layers.size(); ++i) {
    parameters += layer_parameters(training.training.net.layers[i], shapes[i]);
  }
  CHECK(parameters == (9 + 1) * 32 + (9 * 32 + 1) * 64 + (9 * 64 + 1) * 128 + (128 + 1) * 4);
  CHECK(trained(training, 4) < 1e-5);
}

TEST_CASE("a training that cannot be is refused before the search, or said after it") {
  const TemporaryFolder folder;
  write_text(folder);
  const auto message = [&](const char* layers, const std::string& rest) -> std::string {
    try {
      expect_training(parsed(layers, rest, folder));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message(R"({"kind": "resnet50"})", on_text).find("/training") != std::string::npos);
  CHECK(message(small_gpt, R"({"training": {"data": {"kind": "text", "path": "none.txt"}}})")
            .find("none.txt") != std::string::npos);
  CHECK(message(small_gpt,
                R"({"training": {"data": {"kind": "text", "path": "text.txt"}, "iteration": 3}})")
            .find("iteration") != std::string::npos);
  CHECK(message(R"({"kind": "mnist_cnn", "image": 10, "classes": 4})", on_text)
            .find("/training/data/kind: found \"text\" for layers of kind \"mnist_cnn\", expected "
                  "pictures") != std::string::npos);
  CHECK(message(small_gpt,
                R"({"training": {"data": {"kind": "synthetic", "classes": 4, "samples": 100}}})")
            .find("/training/data/kind: found \"synthetic\" for layers of kind \"gpt\", expected "
                  "\"text\"") != std::string::npos);

  json tied = json::parse(small_gpt);
  tied["tied"] = true;
  const ParallelSpec spec = parsed(tied.dump().c_str(), on_text, folder);
  ParallelPlan plan;
  plan.spec = &spec;
  plan.rows = {row({.stages = 2, .microbatches = 2, .samples = 4}, {3, 3})};
  CHECK(training_of(plan, {}).json.empty());
  CHECK(training_of(plan, {}).why == "words and classifier share weights (tied)");
  CHECK_FALSE(has_training(parsed(small_gpt, "{}", folder)));
}

}  // namespace schedlab
