// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_partition.hpp"
#include "cli/json_node.hpp"
#include "cli/partition/partition_study.hpp"
#include "cli/schema_check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/cli/temporary_folder.hpp"
#include "tests/support/checkout.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
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
  check_schema(parse_json_node(text, "result"), text, partition_results_schema(), "result");
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
  check_schema(parse_json_node(layers, "layers"), layers, layers_schema(), "layers");
  const std::string result = read_file(out / "partition.json");
  check_schema(parse_json_node(result, "result"), result, partition_results_schema(), "result");
  const std::string picture = read_file(out / "layers.svg");
  CHECK(says(picture, "block_11.norm_1"));
  CHECK(says(picture, "stage 5"));
  CHECK(says(read_file(out / "stages.svg"), "synchronization"));
}

}  // namespace
}  // namespace schedlab
