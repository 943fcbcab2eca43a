// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/parallel/parallel_bounds.hpp"
#include "studies/parallel/parallel_plan.hpp"
#include "studies/parallel/plan_parallel_verb.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/scenario/simulation.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

/// Six layers of unlike times, one with a branch around it.
void write_uneven_layers(const TemporaryFolder& folder) {
  const std::vector<double> forward{400, 900, 300, 700, 200, 500};
  json layers = json::array();
  for (std::size_t i = 0; i < forward.size(); ++i) {
    layers.push_back({{"name", fmt::format("l{}", i)},
                      {"forward_us", forward[i]},
                      {"backward_data_us", 1.1 * forward[i]},
                      {"backward_weight_us", 0.7 * forward[i]},
                      {"update_us", 20},
                      {"activation_bytes", 3'000'000},
                      {"kept_bytes", 40'000'000},
                      {"parameter_bytes", 25'000'000 + 9'000'000 * i}});
    if (i > 0) layers.back()["needs"] = {fmt::format("l{}", i - 1)};
  }
  layers[4]["needs"].push_back("l2");
  write_file_atomically(folder.path() / "net.json",
                        json{{"schedlab", "layers"}, {"version", 1}, {"layers", layers}}.dump());
}

json file_spec(const std::string& rest = "{}") {
  json spec = json::parse(R"({"schedlab": "parallel", "version": 1, "name": "uneven",
    "layers": {"kind": "file", "path": "net.json"}, "machine": "a100_40gb",
    "devices": 4, "batch": 8})");
  spec.merge_patch(json::parse(rest));
  return spec;
}

json gpt_spec(const std::string& rest = "{}") {
  json spec = json::parse(R"({"schedlab": "parallel", "version": 1, "name": "gpt",
    "layers": {"kind": "gpt", "blocks": 3, "hidden": 256, "heads": 4, "vocabulary": 5000,
               "window": 128, "stride": 0, "expressivity": 1, "data_type": "bf16"},
    "machine": "a100_40gb", "devices": 4, "batch": 8})");
  spec.merge_patch(json::parse(rest));
  return spec;
}

ParallelSpec parsed(const json& spec, const std::filesystem::path& folder = ".") {
  return parse_parallel_spec(spec.dump(), "spec.json", folder);
}

std::vector<std::vector<std::int64_t>> all_cuts(std::int64_t layers, std::int64_t stages) {
  if (stages == 1) return {{layers}};
  std::vector<std::vector<std::int64_t>> cuts;
  for (std::int64_t first = 1; first <= layers - stages + 1; ++first) {
    for (std::vector<std::int64_t> rest : all_cuts(layers - first, stages - 1)) {
      rest.insert(rest.begin(), first);
      cuts.push_back(std::move(rest));
    }
  }
  return cuts;
}

struct Tried {
  ParallelChoice choice;
  std::vector<std::int64_t> cut;
  Duration time{0};
  Bytes memory{};
};

/// Every choice with every cut and every schedule of a list, simulated by specs made here.
std::vector<Tried> try_everything(const json& spec,
                                  const std::filesystem::path& folder,
                                  std::int64_t layers,
                                  std::int64_t samples,
                                  bool shares) {
  std::vector<Tried> all;
  const std::int64_t devices = spec.at("devices");
  const std::int64_t batch = spec.at("batch");
  for (std::int64_t t = 1; t <= (shares ? devices : 1); ++t) {
    for (std::int64_t r = 1; r <= devices; ++r) {
      for (std::int64_t p = 1; p <= devices; ++p) {
        for (std::int64_t v = 1; v <= 2; ++v) {
          for (std::int64_t m = 1; m <= batch; ++m) {
            if (t * r * p != devices || batch % (r * m) != 0 || (v > 1 && p == 1)) continue;
            if (samples > 0 && batch / (r * m) != samples) continue;
            if (p * v > layers) continue;
            json cuts = json::array();
            const auto numbers = all_cuts(layers, p * v);
            for (const auto& cut : numbers) cuts.push_back(fmt::format("{}", fmt::join(cut, ",")));
            json workload = spec.at("layers");
            workload["kind"] = samples > 0 ? "layer_file_pipeline" : "gpt_pipeline";
            if (samples == 0) workload["samples"] = batch / (r * m);
            if (shares) workload["tensor_parallel"] = t;
            workload["replicas"] = r;
            workload["virtual_stages"] = v;
            workload["microbatches"] = m;
            workload["recompute"] = {false, true};
            workload["layers_per_stage"] = cuts;
            const Spec scenarios = parse_spec(json{{"workload", workload},
                                                   {"machine", spec.at("machine")},
                                                   {"policy", spec.at("policy")},
                                                   {"memory", "ignore"}}
                                                  .dump(),
                                              "all.json",
                                              folder);
            const Grid grid(scenarios);
            ScenarioSpace space(scenarios, grid);
            ScenarioRunner runner(space);
            for (std::uint64_t i = 0; i < grid.size(); ++i) {
              const ScenarioResult result = runner.run(i, false);
              if (result.failed) continue;
              Tried tried;
              tried.choice = {.replicas = static_cast<std::uint32_t>(r),
                              .stages = static_cast<std::uint32_t>(p * v),
                              .virtual_stages = static_cast<std::uint32_t>(v),
                              .tensor_parallel = static_cast<std::uint32_t>(t),
                              .microbatches = m,
                              .samples = batch / (r * m)};
              const std::vector<Cell> cells = grid.axis_values(i);
              for (std::size_t axis = 0; axis < cells.size(); ++axis) {
                const auto* text = std::get_if<std::string>(&cells[axis]);
                const std::string value = text != nullptr ? *text : "";
                if (grid.axes()[axis].path == "/workload/recompute") {
                  tried.choice.recompute = value == "true";
                } else if (grid.axes()[axis].path == "/workload/layers_per_stage") {
                  const auto at = std::find(cuts.begin(), cuts.end(), json(value));
                  tried.cut = numbers.at(static_cast<std::size_t>(at - cuts.begin()));
                }
              }
              tried.time = result.summary.makespan;
              tried.memory = result.summary.peak_memory;
              all.push_back(std::move(tried));
            }
          }
        }
      }
    }
  }
  return all;
}

/// Of each choice the best time that fits, rising; schedules of equal time count once.
std::vector<Duration> best_times(const std::vector<Tried>& all, Bytes memory) {
  Duration best = Duration::max();
  for (const Tried& tried : all) {
    if (memory == Bytes{0} || tried.memory <= memory) best = std::min(best, tried.time);
  }
  return {best};
}

const char* const schedules = R"(["pipeline_flush", "pipeline_1f1b", "pipeline_interleaved_1f1b",
                                  "pipeline_zb_h1"])";

TEST_CASE("the best plan is the best of all plans") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  json spec = file_spec();
  spec["policy"] = json::parse(schedules);
  const std::vector<Tried> all = try_everything(spec, folder.path(), 6, 1, false);
  REQUIRE(all.size() > 150);
  // All of it, half of what the fastest needs, and a little more than the emptiest.
  const auto fastest = std::min_element(
      all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.time < b.time; });
  const auto emptiest = std::min_element(
      all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.memory < b.memory; });
  for (const Bytes memory : {Bytes{0},
                             Bytes{fastest->memory.count() * 9 / 10},
                             Bytes{fastest->memory.count() * 7 / 10},
                             emptiest->memory}) {
    json limited = spec;
    if (memory > Bytes{0}) {
      limited["memory_limit_gib"] =
          static_cast<double>(memory.count()) / (1024.0 * 1024.0 * 1024.0);
    }
    const ParallelSpec read = parsed(limited, folder.path());
    const ParallelPlan plan = plan_parallel(read);
    CAPTURE(memory.count());
    CHECK(plan.proven());
    CHECK(plan.lower_bound == plan.rows.front().time);
    CHECK(plan.rows.front().time == best_times(all, memory).front());
    if (memory > Bytes{0}) CHECK(plan.rows.front().memory <= memory);
    CHECK(plan.simulations < all.size() / 2);
  }
}

TEST_CASE("the best plan of ranks that share layers is the best of all plans") {
  json spec = gpt_spec();
  spec["policy"] = json::parse(schedules);
  const std::vector<Tried> all = try_everything(spec, ".", 7, 0, true);
  REQUIRE(all.size() > 500);
  const ParallelSpec read = parsed(spec);
  const ParallelPlan plan = plan_parallel(read);
  CHECK(plan.exact_rows == plan.rows.size());
  CHECK(plan.rows.front().time == best_times(all, Bytes{0}).front());
}

TEST_CASE("no simulated plan is below its bounds") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const MachineSpec machine = load_machine("a100_40gb");
  const auto costs =
      make_cost_model(std::string{default_cost_model_of(machine.platform.devices[DeviceId{0}])});
  for (const bool shares : {false, true}) {
    json spec = shares ? gpt_spec() : file_spec();
    spec["policy"] = json::parse(schedules);
    const ParallelSpec read = parsed(spec, folder.path());
    const ParallelSpace space(read, *costs, machine.platform);
    ParallelBounds bounds(space, *costs, machine.platform);
    std::size_t checked = 0;
    for (const Tried& tried :
         try_everything(spec, folder.path(), shares ? 7 : 6, shares ? 0 : 1, shares)) {
      bounds.choose(tried.choice);
      const ParallelBound bound = bounds.of(tried.cut);
      CAPTURE(fmt::format("{}", fmt::join(tried.cut, ",")));
      REQUIRE(bound.time <= tried.time);
      REQUIRE(bound.memory <= tried.memory);
      REQUIRE(bounds.of_all_cuts() <= tried.time);
      ++checked;
    }
    CHECK(checked > 150);
  }
}

TEST_CASE("collectives beside computing: the best plan is the best of all, none below its bounds") {
  json spec = gpt_spec(R"({"layers": {"blocks": 2, "hidden": 1024, "window": 512}, "batch": 4,
                           "virtual_stages": 1, "recompute": false})");
  const MachineSpec machine = load_machine("a100_40gb");
  const auto costs = make_cost_model("tiled_gemm");
  Duration best = Duration::max();
  std::size_t beside = 0;
  for (const char* policy : {"pipeline_1f1b", "batch_overlap"}) {
    spec["policy"] = policy;
    const ParallelSpec read = parsed(spec);
    const ParallelSpace space(read, *costs, machine.platform);
    ParallelBounds bounds(space, *costs, machine.platform);
    for (Tried tried : try_everything(spec, ".", 6, 0, true)) {
      ParallelChoice& choice = tried.choice;
      if (choice.recompute || choice.virtual_stages > 1) continue;
      choice.overlap =
          read.policies.front().overlaps && choice.tensor_parallel > 1 && choice.microbatches > 1;
      if (read.policies.front().overlaps && !choice.overlap) continue;
      beside += choice.overlap ? 1 : 0;
      bounds.choose(choice);
      REQUIRE(bounds.of(tried.cut).time <= tried.time);
      REQUIRE(bounds.of(tried.cut).memory <= tried.memory);
      REQUIRE(bounds.of_all_cuts() <= tried.time);
      if (choice.tensor_parallel > 1) best = std::min(best, tried.time);
    }
  }
  CHECK(beside > 10);
  spec["policy"] = {"pipeline_1f1b", "batch_overlap"};
  spec["tensor_parallel"] = {2, 4};
  const ParallelSpec read = parsed(spec);
  const ParallelPlan plan = plan_parallel(read);
  CHECK(plan.exact_rows == plan.rows.size());
  CHECK(plan.rows.front().time == best);
  CHECK(std::any_of(plan.rows.begin(), plan.rows.end(), [&](const ParallelRow& row) {
    return row.choice.overlap && read.policies[row.policy].in_pairs;
  }));
}

TEST_CASE("messages beside computing: pairs are searched where stages send") {
  json spec = gpt_spec(R"({"layers": {"blocks": 2}, "devices": 2, "batch": 4, "virtual_stages": 1,
                           "tensor_parallel": 1, "recompute": false, "policy": "batch_overlap"})");
  Duration best = Duration::max();
  for (const Tried& tried : try_everything(spec, ".", 6, 0, false)) {
    const ParallelChoice& choice = tried.choice;
    if (choice.recompute || choice.virtual_stages > 1) continue;
    if (choice.stages == 2 && choice.microbatches > 1) best = std::min(best, tried.time);
  }
  const ParallelPlan plan = plan_parallel(parsed(spec));
  CHECK(plan.exact_rows == plan.rows.size());
  REQUIRE_FALSE(plan.rows.empty());
  CHECK(plan.rows.front().time == best);
  for (const ParallelRow& row : plan.rows) {
    CHECK(row.choice.stages == 2);
    CHECK(row.choice.microbatches > 1);
    CHECK(row.bound <= row.time);
  }
  spec["stages"] = 1;
  CHECK_THROWS_WITH_AS(static_cast<void>(plan_parallel(parsed(spec))),
                       doctest::Contains("batch_overlap needs two microbatches"),
                       InfeasibleError);
}

TEST_CASE("ranks that share experts are devices, and have microbatches of their own") {
  const json spec = gpt_spec(R"({"layers": {"experts": 4, "expert_parallel": 2}, "rows": 50,
                                 "policy": ["pipeline_1f1b", "batch_overlap"]})");
  const ParallelSpec read = parsed(spec);
  const ParallelPlan plan = plan_parallel(read);
  CHECK(plan.exact_rows == plan.rows.size());
  for (const ParallelRow& row : plan.rows) {
    CHECK(row.choice.devices() == 4);
    CHECK(row.choice.replicas * 2 * row.choice.microbatches * row.choice.samples == 8);
    CHECK(row.bound <= row.time);
    CHECK(simulate(parse_spec(scenario_of(read, row), "best.json")).run.plan.hosts.size() == 4);
  }
}

TEST_CASE("all cuts are looked at once, by rising bound") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const ParallelSpec read = parsed(file_spec(), folder.path());
  const MachineSpec machine = load_machine("a100_40gb");
  const auto costs = make_cost_model("tiled_gemm");
  const ParallelSpace space(read, *costs, machine.platform);
  ParallelBounds bounds(space, *costs, machine.platform);
  const ParallelChoice choice{.stages = 4, .microbatches = 8};
  const ParallelCuts all = best_cuts(bounds, choice, 6, Bytes{0}, 1000);
  CHECK(all.cuts.size() == 10);  // 5 over 3
  CHECK(all.others == Duration::max());
  std::vector<std::vector<std::int64_t>> seen;
  for (std::size_t i = 0; i < all.cuts.size(); ++i) {
    CHECK(std::accumulate(all.cuts[i].layers_per_stage.begin(),
                          all.cuts[i].layers_per_stage.end(),
                          std::int64_t{0}) == 6);
    seen.push_back(all.cuts[i].layers_per_stage);
    if (i > 0) CHECK(all.cuts[i - 1].bound.time <= all.cuts[i].bound.time);
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::unique(seen.begin(), seen.end()) == seen.end());
  const ParallelCuts three = best_cuts(bounds, choice, 6, Bytes{0}, 3);
  CHECK(three.cuts.size() == 3);
  CHECK(three.others == all.cuts[3].bound.time);
  // 400 + 900 + 300 + 700 + 200 + 500 in four: 900 is the longest stage; two layers after it.
  CHECK(bounds.balanced_cut() == std::vector<std::int64_t>{1, 1, 2, 2});
  const ParallelCuts too_many = best_cuts(bounds, choice, 6, Bytes{0}, 1000, 9);
  CHECK_FALSE(too_many.all);
  CHECK(too_many.cuts.size() == 2);
  CHECK(too_many.others <= all.cuts.front().bound.time);
}

TEST_CASE("the spec of the best plan simulates to its time") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const ParallelSpec read = parsed(file_spec(), folder.path());
  const ParallelPlan plan = plan_parallel(read);
  const std::filesystem::path elsewhere = folder.path() / "a" / "b";
  for (const ParallelRow& row : plan.rows) {
    const Spec spec = parse_spec(scenario_of(read, row, elsewhere), "best.json", elsewhere);
    std::filesystem::create_directories(elsewhere);
    CHECK(simulate(spec).metrics.makespan == row.time);
  }
}

TEST_CASE("a stopped search says how much faster a plan could be") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const ParallelSpec whole = parsed(file_spec(R"({"stages": 4})"), folder.path());
  const ParallelPlan best = plan_parallel(whole);
  const ParallelSpec few = parsed(file_spec(R"({"stages": 4, "simulations": 3})"), folder.path());
  const ParallelPlan stopped = plan_parallel(few);
  CHECK(stopped.stopped);
  CHECK(stopped.lower_bound <= best.rows.front().time);
  CHECK(stopped.rows.front().time >= best.rows.front().time);
  CHECK(stopped.lower_bound > Duration{0});
}

TEST_CASE("the results fit their schema") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const ParallelSpec read =
      parsed(file_spec(R"({"memory_limit_gib": 0.7, "rows": 3})"), folder.path());
  const ParallelPlan plan = plan_parallel(read);
  CHECK(plan.rows.size() == 3);
  static_cast<void>(
      read_checked_json(parallel_plan_json(plan), parallel_plan_schema(), "parallel_plan.json"));
  const std::string csv = parallel_rows_csv(plan);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(text_of(parallel_report(plan)).find("Proven") != std::string::npos);
}

TEST_CASE("what cannot be planned is said") {
  const TemporaryFolder folder;
  write_uneven_layers(folder);
  const auto message = [&](const json& spec) -> std::string {
    try {
      const ParallelSpec read = parsed(spec, folder.path());
      static_cast<void>(plan_parallel(read));
    } catch (const InputError& error) {
      return error.what();
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "";
  };
  const auto says = [&](const json& spec, const std::string& text) {
    const std::string said = message(spec);
    CAPTURE(said);
    CHECK(said.find(text) != std::string::npos);
  };
  says(file_spec(R"({"memory_limit_gib": 0.01})"), "fits into 0.0 GiB");
  says(file_spec(R"({"batch": 7, "replicas": 2})"), "no way to spread a batch of 7");
  says(file_spec(R"({"machine": "no_such"})"), "/machine");
  says(file_spec(R"({"policy": "heft"})"), "/policy");
  says(file_spec(
           R"({"policy": {"name": "pipeline_1f1b", "transfers": ["blocking", "overlapped"]}})"),
       "one value of each option");
  says(gpt_spec(R"({"layers": {"kind": "vgg16"}})"), "/layers");
  says(gpt_spec(R"({"layers": {"data_type": "fp32"}, "machine": "v100", "tensor_parallel": 2})"),
       "network");
}

}  // namespace
}  // namespace schedlab
