// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "tests/support/refusal.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"
#include "workloads/pipeline/stage_profiles_json.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using namespace literals;
using testing::has;

std::string message_of(std::string_view text) {
  try {
    static_cast<void>(read_stage_profiles(text, "profiles.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing is wrong";
}

}  // namespace

TEST_CASE("a file of stage profiles is read number by number") {
  PipelineProfile profile;
  profile.labels = 4_B;
  profile.stages = {{.name = "first \"half\"",
                     .forward = {.fixed = 1500ns, .per_sample = Duration{1}},
                     .backward_data = {.fixed = 2us, .per_sample = 3us},
                     .backward_weight = {.fixed = 4us, .per_sample = 5us},
                     .update = 6us,
                     .parameters = 70_B,
                     .optimizer_state = 80_B,
                     .kept_activations = 90_B,
                     .kept_gradients = 100_B},
                    {.name = "second", .parameters = 20_B}};
  profile.links = {{0, 1, 1000_B}};
  profile.tied = {{"embedding", 20_B, {0, 1}}};
  CHECK(read_stage_profiles(R"({"schedlab": "stage_profiles", "version": 1, "labels_bytes": 4,
    "stages": [
      {"name": "first \"half\"", "forward_us": 1.5, "forward_per_sample_us": 0.000001,
       "backward_data_us": 2, "backward_data_per_sample_us": 3, "backward_weight_us": 4,
       "backward_weight_per_sample_us": 5, "update_us": 6, "parameters_bytes": 70,
       "optimizer_state_bytes": 80, "kept_activations_bytes": 90, "kept_gradients_bytes": 100},
      {"name": "second", "parameters_bytes": 20}],
    "links": [{"from": 0, "to": 1, "bytes": 1000}],
    "tied": [{"name": "embedding", "bytes": 20, "stages": [0, 1]}]})",
                            "a.json") == profile);
}

TEST_CASE("what is wrong with a file of stage profiles is said with its place") {
  CHECK(has(message_of("{}"), "no \"schedlab\" key"));
  CHECK(has(message_of(R"({"schedlab": "stage_profiles", "stages": []})"),
            "/stages: found 0 stages"));
  const std::string typing =
      message_of(R"({"schedlab": "stage_profiles", "stages": [{"forward": 1}]})");
  CHECK(has(typing, "/stages/0: found the unknown key \"forward\""));
  CHECK(has(typing, "did you mean \"forward_us\"?"));
  CHECK(has(message_of(R"({"schedlab": "stage_profiles", "stages": [{"forward_us": -1}]})"),
            "/stages/0/forward_us: found -1"));
  CHECK(has(message_of(R"({"schedlab": "stage_profiles", "stages": [{}, {}],
                           "links": [{"from": 1, "to": 0}]})"),
            "/links/0: found from 1 to 0, expected a later one of 2 stages"));
  CHECK(has(message_of(R"({"schedlab": "stage_profiles", "stages": [{}, {}],
                           "tied": [{"stages": [0, 1], "bytes": 5}]})"),
            "/tied/0: found 5 bytes, expected at most the 0 bytes"));
  CHECK(has(message_of("{\"schedlab\": \"graph\"}"), "/schedlab: found \"graph\""));
}

TEST_CASE("the workload says what its numbers cannot be") {
  const auto refused = [](const std::map<std::string, OptionValue>& options) {
    try {
      static_cast<void>(make_workload("pipeline", options));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(has(refused({{"stages", std::int64_t{4}}, {"virtual_stages", std::int64_t{3}}}),
            "/virtual_stages: found 3, expected a divisor of 4 stages"));
  CHECK(has(refused({{"microbatches", std::int64_t{8}},
                     {"replicas", std::int64_t{2}},
                     {"batch", std::int64_t{15}}}),
            "/batch: found 15, expected at least 16"));
  CHECK(has(refused({{"tied_mib", 2.0}, {"parameters_mib", 1.0}}), "/tied_mib: found 2 MiB"));
}

TEST_CASE("operators take the place of passes") {
  PipelineSpec spec;
  spec.profile.stages.resize(2);
  spec.profile.links = chain_links(2, 8_B);
  spec.batch = 6;
  spec.microbatches = 3;
  StageOperators operators;
  const OperationId dense = operators.operations.push_back({.name = "dense"});
  const OperationId gradient = operators.operations.push_back({.name = "dense_gradient"});
  operators.stages.assign(2,
                          {.forward = {dense, dense},
                           .backward_data = {gradient, gradient},
                           .backward_weight = {gradient},
                           .update = {}});
  spec.operators = operators;
  const TaskGraph graph = pipeline_graph(spec);
  // 2 stages x (3 micro-batches x 5 operators + an update of nothing).
  CHECK(graph.task_count() == 2 * (3 * 5 + 1));
  CHECK(graph.topologically_numbered());
  CHECK(rank_messages(graph).size() == 6);
  CHECK(rank_messages(graph).front().bytes == 16_B);  // 2 samples
  spec.batch = 7;
  CHECK_THROWS_AS(static_cast<void>(pipeline_graph(spec)), InfeasibleError);
}

}  // namespace schedlab
