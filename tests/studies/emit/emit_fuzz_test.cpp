// SPDX-License-Identifier: Apache-2.0
// Every workload, under policies and launch modes in turn: equal calls, or a refusal that says why.
#include "tests/studies/emit/emitted_program.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <string>

namespace schedlab {
namespace {

using testing::emitted_plan;

/// Options that keep a graph small.
const std::map<std::string, nlohmann::json> small_options{
    {"lstm", {{"layers", 2}, {"steps", 4}, {"pass", "training"}, {"recompute", "data_drop"}}},
    {"gru", {{"layers", 2}, {"steps", 4}, {"iterations", 2}, {"pass", "training"}}},
    {"gnmt", {{"source_steps", 3}, {"target_steps", 3}}},
    {"opennmt", {{"source_steps", 3}, {"target_steps", 3}}},
    {"sentiment_lstm", {{"steps", 4}}},
    {"output_layer", {{"steps", 4}}},
    {"llama_decode", {{"layers", 2}}},
    {"llama_prefill", {{"layers", 1}}},
    {"gpt_pipeline", {{"blocks", 2}}}};

struct Tried {
  std::string spec;
  std::string refusal;  // empty: its calls are equal
};

Tried tried(const std::string& kind, std::size_t turn) {
  constexpr std::array<const char*, 4> policies{
      "critical_first", "heft", "single_stream", "round_robin_fifo"};
  constexpr std::array<const char*, 3> launches{"eager", "graph_launch", "graph_mode"};
  nlohmann::json workload{{"kind", kind}};
  const auto options = small_options.find(kind);
  if (options != small_options.end()) workload.update(options->second);
  const nlohmann::json spec{
      {"workload", workload},
      {"machine", "h200"},
      {"policy", kind.ends_with("pipeline") ? "pipeline_1f1b" : policies[turn % policies.size()]},
      {"launch", launches[turn % launches.size()]}};
  Tried made{.spec = spec.dump(), .refusal = {}};
  try {
    const EmittedPlan emitted = emitted_plan(made.spec);
    const testing::RecordedProgram program =
        testing::run_recorded(cuda_source(emitted, {}).text, false);
    CAPTURE(made.spec);
    CAPTURE(program.printed);
    REQUIRE(program.compiled);
    CHECK(program.exit_code == 0);
    const testing::RecordedPlan recorded(program.log, emitted.plan.event_count);
    const testing::PlannedCalls planned(emitted);
    CHECK(recorded.start == planned.start);
    CHECK(recorded.calls == planned.calls);
    CHECK(recorded.graphs == planned.graphs);
  } catch (const InfeasibleError& error) {
    made.refusal = error.what();
  } catch (const InputError& error) {
    made.refusal = error.what();
  }
  return made;
}

}  // namespace

TEST_CASE("every workload is emitted with equal calls, or refused with a reason") {
  std::size_t turn = 0;
  std::size_t emitted = 0;
  for (const WorkloadInfo& workload : workloads()) {
    const Tried made = tried(workload.name, turn++);
    if (made.refusal.empty()) {
      ++emitted;
      continue;
    }
    CAPTURE(made.spec);
    CHECK(made.refusal.size() > 20);
    CAPTURE(made.refusal);
    // One for several devices, or one whose file is not given.
    CHECK((workload.name.ends_with("pipeline") || workload.name == "file" ||
           workload.name == "layer_file_training"));
  }
  CHECK(emitted >= 21);
}

}  // namespace schedlab
