// SPDX-License-Identifier: Apache-2.0
// Bottleneck loads of partitions against the exact ones that a published study computed, and stages
// of PipeDream's profiles against a chain of layers.
#include "policies/pipeline/partitioner.hpp"
#include "sim/base/file.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {
namespace {

double ms(Duration duration) {
  return to_us(duration) / 1000;
}

TEST_CASE("partitions of BERT-24 and GNMT have the exact loads of the partitioning study") {
  const auto objectives = testing::reference_data("dnn_partitioning/reference_objectives.csv");
  if (!objectives) return;
  std::map<std::string, double> exact;
  std::map<std::string, double> single;
  for (const testing::CsvRow& row : testing::read_csv(*objectives)) {
    const double load = std::stod(row.at("objective"));
    if (row.at("method") == "exact contiguous DP: max-load") exact[row.at("instance")] = load;
    if (row.at("method") == "single accelerator: load") single[row.at("instance")] = load;
  }
  std::size_t checked = 0;
  for (const auto& [instance, load] : exact) {
    // throughput-inputs_LayerGraphs_NAME is throughput-inputs/LayerGraphs/NAME.json.gz.
    const std::string name = instance.substr(instance.find("LayerGraphs_") + 12);
    const auto path = testing::reference_data(
        fmt::format("dnn_partitioning/throughput-inputs/LayerGraphs/{}.json.gz", name));
    if (!path) continue;
    CAPTURE(name);
    const LayerFile file = read_layer_file(*path);
    PartitionRequest request;
    request.accelerators = file.accelerators;
    request.rules.training = false;
    const auto times = layer_times(file.graph);
    const PartitionResult found = partition_layers(file.graph, times, request);
    CHECK(found.method == PartitionMethod::exact);
    CHECK(ms(found.partition.load()) == doctest::Approx(load).epsilon(1e-5));  // six digits
    request.merge_untimed = false;
    const PartitionResult finer = partition_layers(file.graph, times, request);
    MESSAGE(
        fmt::format("{}: {:.4f} ms, published {:.4f}; {} down-sets; every layer by itself: "
                    "{:.4f} ms, {} down-sets, {}",
                    name,
                    ms(found.partition.load()),
                    load,
                    found.down_sets,
                    ms(finer.partition.load()),
                    finer.down_sets,
                    to_string(finer.method)));
    if (name == "gnmt_inference") CHECK(found.down_sets == 100);
    request.accelerators = 1;
    const PartitionResult alone = partition_layers(file.graph, times, request);
    CHECK(ms(alone.partition.load()) == doctest::Approx(single.at(instance)).epsilon(1e-5));
    ++checked;
  }
  CHECK(checked == exact.size());
}

TEST_CASE("ResNet-50's operators: layers without time are kept apart where that is better") {
  const auto path = testing::reference_data(
      "dnn_partitioning/throughput-inputs/OperatorGraphs/resnet50_inference.json");
  if (!path) return;
  const LayerFile file = read_layer_file(*path);  // with true and false, as published
  REQUIRE(file.notes.size() == 1);                // maxCPUs
  PartitionRequest request;
  request.accelerators = file.accelerators;
  request.rules.training = false;
  const auto times = layer_times(file.graph);
  const PartitionResult found = partition_layers(file.graph, times, request);
  CHECK(found.method == PartitionMethod::exact);
  CHECK(ms(found.partition.load()) == doctest::Approx(89.31).epsilon(1e-4));
  request.merge_untimed = true;
  const PartitionResult merged = partition_layers(file.graph, times, request);
  CHECK(merged.partition.load() > 1.4 * found.partition.load());
  MESSAGE(fmt::format("{:.2f} ms, {} down-sets, {} stages tried; merged {:.2f} ms",
                      ms(found.partition.load()),
                      found.down_sets,
                      found.stages_tried,
                      ms(merged.partition.load())));
}

/// Ranks of each stage that PipeDream's authors train the model with on 4 devices, if they say so.
std::optional<std::vector<std::size_t>> published_replicas(const std::string& name) {
  if (name != "gnmt") return std::nullopt;
  const auto path = testing::reference_data("pipedream/stage_confs/gnmt/gpus4/hybrid_conf.json");
  if (!path) return std::nullopt;
  std::vector<std::size_t> replicas;
  const nlohmann::json conf = nlohmann::json::parse(read_file(*path));
  for (const auto& ranks : conf.at("stage_to_rank_map")) {
    replicas.push_back(ranks.size());
  }
  return replicas;
}

TEST_CASE("profiles of PipeDream: exact cuts are at least as good as cuts of the file's order") {
  for (const std::string name : {"alexnet", "vgg16", "gnmt", "resnet50"}) {
    const auto path = testing::reference_data(fmt::format("pipedream/profiles/{}.graph.txt", name));
    if (!path) return;
    CAPTURE(name);
    const LayerGraph graph = read_layer_file(*path).graph;
    const auto times = layer_times(graph);
    PartitionRequest request;
    request.accelerators = 4;
    request.rules.bandwidth = Bandwidth{1e10 / 8};  // 10 Gbit/s, as PipeDream's cluster of V100
    request.rules.microbatches = 4;
    request.rules.in_flight = InFlight::later_stages;
    const PartitionResult best = partition_layers(graph, times, request);
    request.max_down_sets = 2;  // prefixes of orders only
    const PartitionResult prefixes = partition_layers(graph, times, request);
    CHECK(best.partition.load() <= prefixes.partition.load());
    CHECK(best.partition.load() >= best.lower_bound);
    request.max_down_sets = PartitionRequest{}.max_down_sets;
    request.max_replicas = 4;
    const PartitionResult replicated = partition_layers(graph, times, request);
    CHECK(replicated.partition.load() <= best.partition.load());
    std::vector<std::size_t> replicas;
    for (const PartitionStage& stage : replicated.partition.stages) {
      replicas.push_back(stage.replicas);
    }
    if (const auto published = published_replicas(name)) CHECK(replicas == *published);
    std::string stages;
    for (const PartitionStage& stage : replicated.partition.stages) {
      stages += fmt::format(" {}x{}", stage.layers.size(), stage.replicas);
    }
    MESSAGE(
        fmt::format("{}: {} layers, {} down-sets ({}); 4 stages {:.1f} ms, prefixes {:.1f} ms; "
                    "with replicas {:.1f} ms, layers x replicas{}",
                    name,
                    graph.layers.size(),
                    best.down_sets,
                    to_string(best.method),
                    ms(best.partition.load()),
                    ms(prefixes.partition.load()),
                    ms(replicated.partition.load()),
                    stages));
  }
}

}  // namespace
}  // namespace schedlab
