// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/partition/partition_study.hpp"
#include "studies/partition/partition_verb.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/pipeline/layer_file.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

/// Four layers of 4, 3, 2 and 2 us forward, in a file beside the spec.
void write_layers(const TemporaryFolder& folder) {
  json layers = json::array();
  const std::vector<double> us{4, 3, 2, 2};
  for (std::size_t i = 0; i < us.size(); ++i) {
    layers.push_back({{"name", std::string(1, static_cast<char>('a' + i))},
                      {"forward_us", us[i]},
                      {"activation_bytes", 1000},
                      {"parameter_bytes", 50}});
    if (i > 0) layers.back()["needs"] = {std::string(1, static_cast<char>('a' + i - 1))};
  }
  write_file_atomically(folder.path() / "net.json",
                        json{{"schedlab", "layers"}, {"version", 1}, {"layers", layers}}.dump());
}

json small_spec(const std::string& rest = "{}") {
  json spec = json::parse(R"({"schedlab": "partition", "version": 1, "name": "small",
    "layers": {"kind": "file", "path": "net.json"}, "pass": "forward", "accelerators": 2})");
  spec.merge_patch(json::parse(rest));
  return spec;
}

std::string partitioned(const TemporaryFolder& folder, const json& spec) {
  try {
    const PartitionSpec parsed = parse_partition_spec(spec.dump(), "spec.json", folder.path());
    return partition_json(run_partition_study(parsed, nullptr));
  } catch (const InputError& error) {
    return error.what();
  } catch (const InfeasibleError& error) {
    return error.what();
  }
}

json rows(const TemporaryFolder& folder, const std::string& rest) {
  const std::string text = partitioned(folder, small_spec(rest));
  CAPTURE(text);
  REQUIRE(json::accept(text));
  read_checked_json(text, partition_results_schema(), "result");
  return json::parse(text).at("rows");
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("stages are found, or worked out as given, for each number of accelerators") {
  const TemporaryFolder folder;
  write_layers(folder);
  const json found = rows(folder, R"({"accelerators": [2, 3]})");
  REQUIRE(found.size() == 2);
  CHECK(found[0]["load_us"] == 7.0);  // 4 + 3 | 2 + 2, or 4 | 3 + 2 + 2
  CHECK(found[1]["load_us"] == 4.0);
  CHECK(found[1]["method"] == "exact");
  const json given = rows(folder, R"({"stages": [3, 1], "replicas": [2, 1]})");
  CHECK(given[0]["method"] == "given");
  CHECK(given[0]["load_us"] == 4.5);  // (4 + 3 + 2) / 2
  CHECK(given[0]["stages"][0]["layers"] == json{"a", "b", "c"});
  CHECK(given[0]["used"] == 3);
  const json named = rows(folder, R"({"stages": [["d"], ["a", "b", "c"]]})");
  CHECK(named[0]["stages"][1]["layers"] == json{"d"});  // renumbered: d reads c
  // 1,000 bytes at 1 GB/s are 1 us, which both sides spend.
  const json linked = rows(folder, R"({"stages": [2, 2], "link": {"bandwidth_gb_per_s": 1}})");
  CHECK(linked[0]["load_us"] == 8.0);
}

TEST_CASE("wrong partition specs are refused with their place and what to do") {
  const TemporaryFolder folder;
  write_layers(folder);
  const auto problem = [&](const std::string& rest) {
    return partitioned(folder, small_spec(rest));
  };
  CHECK(says(problem(R"({"stages": [["a", "d"], ["b", "c"]]})"),
             "\"a\" (stage 0) feeds \"b\" (stage 1), \"c\" (stage 1) feeds \"d\" (stage 0)"));
  CHECK(says(problem(R"({"stages": [3, 2]})"), "add up to 5, the model has 4"));
  CHECK(says(problem(R"({"stages": [["a", "b"], ["c"]]})"),
             "/stages: found no stage of layer \"d\""));
  CHECK(says(problem(R"({"stages": [["a", "b"], ["b", "c", "d"]]})"), "\"b\" for the second time"));
  CHECK(says(problem(R"({"together": [["a", "q"]]})"), "spec.json: /together/0/1: found \"q\""));
  CHECK(says(problem(R"({"accelerators": null})"), "no \"accelerators\""));
  CHECK(says(problem(R"({"layers": {"path": "none.json"}})"), "none.json"));
  CHECK(says(problem(R"({"layers": {"kind": "gptt", "path": null}})"), "did you mean \"gpt\""));
  CHECK(says(problem(R"({"accelerator": 2})"), "did you mean \"accelerators\""));
  CHECK(says(problem(R"({"machine": "v10"})"), "v100"));
  CHECK(says(problem(R"({"memory_limit_gib": 1e-8})"), "fits their memory"));
  CHECK(says(problem(R"({"accelerators": 5, "use_all": true})"), "only 4 groups of layers"));
  CHECK(says(problem(R"({"layers": {"kind": "mnist_cnn", "path": null}})"), "no \"machine\""));
}

TEST_CASE("a number of stages, with or without replicas, says how many accelerators there are") {
  const TemporaryFolder folder;
  write_layers(folder);
  const json four = rows(folder, R"({"accelerators": null, "stages": 4})");
  CHECK(four[0]["stages"].size() == 4);
  const json twice = rows(folder, R"({"accelerators": null, "stages": 2, "replicas": 2})");
  CHECK(twice[0]["accelerators"] == 4);
  CHECK(twice[0]["stages"].size() == 2);
  CHECK(twice[0]["stages"][1]["replicas"] == 2);
  CHECK(twice[0]["load_us"] == 3.5);  // 7 and 4 us on two each
  CHECK(rows(folder, R"({"accelerators": 6, "stages": 2})")[0]["stages"][0]["replicas"] == 3);
  const auto problem = [&](const std::string& rest) {
    return partitioned(folder, small_spec(rest));
  };
  CHECK(says(problem(R"({"accelerators": 5, "stages": 2})"), "/accelerators: found 5"));
  CHECK(says(problem(R"({"stages": 2, "max_replicas": 2})"), "/max_replicas"));
  CHECK(says(problem(R"({"stages": 2, "replicas": [1, 1]})"), "/replicas: found a list"));
  CHECK(says(problem(R"({"accelerators": null, "stages": 5})"), "5 stages are asked for"));
}

TEST_CASE("without a link transfers go over the machine's network") {
  const TemporaryFolder folder;
  write_layers(folder);
  const json spec = small_spec(R"({"stages": [2, 2], "machine": "h200", "accelerators": null})");
  const PartitionSpec parsed = parse_partition_spec(spec.dump(), "spec.json", folder.path());
  CHECK(parsed.request.rules.bandwidth.count() == doctest::Approx(450e9));
  CHECK(parsed.request.rules.latency == from_us(0.6));  // to the switch and on, 0.3 us each
  REQUIRE(parsed.notes.size() == 1);
  CHECK(says(parsed.notes[0], "link: 450 GB/s and 0.6 us, of the network of h200"));
  const json own = small_spec(
      R"({"stages": [2, 2], "machine": "h200", "accelerators": null, "link": {"bandwidth_gb_per_s": 1}})");
  CHECK(parse_partition_spec(own.dump(), "spec.json", folder.path()).request.rules.bandwidth ==
        Bandwidth{1e9});
}

TEST_CASE("layers that ranks share take the time of their collectives, too") {
  const auto compute = [](const std::string& ranks) {
    const std::string spec =
        R"({"schedlab": "partition", "version": 1, "machine": "h200", "stages": 1, "layers":
           {"kind": "gpt", "blocks": 1, "tensor_parallel": )" +
        ranks + "}}";
    const PartitionSpec parsed = parse_partition_spec(spec, "spec.json");
    LayerTimes sum;
    for (const LayerTimes& times : parsed.times) sum += times;
    const IdVector<LayerId, LayerTimes> kernels =
        layer_times(parsed.graph,
                    *make_cost_model("tiled_gemm"),
                    load_machine("h200").platform.devices[DeviceId{0}]);
    LayerTimes without;
    for (const LayerTimes& times : kernels) without += times;
    return sum.microbatch() - without.microbatch();
  };
  CHECK(compute("1") == Duration{0});
  // Nine all-reduces among 2 ranks: two each way in the block, one of the embedding, four of the
  // classifier; each has the base of 14 us at least.
  CHECK(compute("2") > from_us(9 * 14));
  CHECK(compute("2") < from_us(9 * 60));
}

TEST_CASE("a search tells how far it is, and stops when asked to") {
  const TemporaryFolder folder;
  write_layers(folder);
  const PartitionSpec spec = parse_partition_spec(small_spec().dump(), "spec.json", folder.path());
  double last = -1;
  static_cast<void>(run_partition_study(spec, nullptr, [&last](double share) { last = share; }));
  CHECK(last > 0);
  CHECK(last <= 1);
  StopFlag stop{false};
  CHECK_THROWS_AS(
      static_cast<void>(run_partition_study(spec, &stop, [&stop](double) { stop = true; })),
      Interrupted);
}

TEST_CASE("a pipeline takes its stages and replicas from a partition") {
  const TemporaryFolder folder;
  write_layers(folder);
  const auto write = [&](const std::string& rest) {
    write_file_atomically(folder.path() / "partition.json", partitioned(folder, small_spec(rest)));
  };
  const std::map<std::string, OptionValue> options{
      {"path", (folder.path() / "net.json").string()},
      {"partition_path", (folder.path() / "partition.json").string()},
      {"microbatches", std::int64_t{2}}};
  write(R"({"accelerators": null, "stages": 2, "replicas": 3})");
  const PipelineRanks ranks = pipeline_ranks(make_workload("layer_file_pipeline", options));
  CHECK(ranks == PipelineRanks{.replicas = 3, .places = 2, .tensor_parallel = 1});
  const auto refused = [&](std::map<std::string, OptionValue> more) {
    more.insert(options.begin(), options.end());
    try {
      static_cast<void>(make_workload("layer_file_pipeline", more));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(says(refused({{"replicas", std::int64_t{2}}}), "/replicas: found 2, expected 3"));
  CHECK(says(refused({{"layers_per_stage", std::string{"2,2"}}}), "/layers_per_stage"));
  CHECK(says(refused({{"partition_accelerators", std::int64_t{9}}}), "expected one for 9"));
  write(R"({"accelerators": [2, 3]})");
  CHECK(says(refused({}), "rows for 2, 3 accelerators"));
  CHECK(refused({{"partition_accelerators", std::int64_t{3}}}).empty());
  write(R"({"stages": [3, 1], "replicas": [2, 1]})");
  CHECK(says(refused({}), "/rows/0/stages/1/replicas: found 1"));
  write(R"({"stages": [3, 1]})");
  std::map<std::string, OptionValue> other = options;
  other.erase("path");
  CHECK_THROWS_WITH_AS(static_cast<void>(make_workload("gpt_pipeline", other)),
                       doctest::Contains("layers of this model, \"gpt\""),
                       InputError);
}

TEST_CASE("the verb writes layers that can be read, a checked result and pictures") {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  std::ostringstream text;
  std::ostringstream notes;
  PartitionOptions options;
  options.spec = (testing::checkout() / "experiments/partition_gpt.json").string();
  options.out = out.string();
  REQUIRE(run(options, Terminal{.out = text, .err = notes}) == exit_done);
  CHECK(says(text.str(), "shared parameters \"words\""));
  CHECK(read_layer_file(out / "layers.json").graph.layers.size() == 12 * 7 + 4);
  const std::string layers = read_file(out / "layers.json");
  read_checked_json(layers, layers_schema(), "layers");
  const std::string result = read_file(out / "partition.json");
  read_checked_json(result, partition_results_schema(), "result");
  const std::string picture = read_file(out / "layers.svg");
  CHECK(says(picture, "block_11.norm_1"));
  CHECK(says(picture, "stage 5"));
  CHECK(says(read_file(out / "stages.svg"), "synchronization"));
}

}  // namespace
}  // namespace schedlab
