// SPDX-License-Identifier: Apache-2.0
#include "studies/partition/partition_study.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart_parts.hpp"
#include "notebooks_export/layer_picture.hpp"
#include "sim/base/error.hpp"
#include "sim/base/schema_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json stage_json(const LayerGraph& graph, const PartitionStage& stage) {
  Json layers = Json::array();
  for (const LayerId id : stage.layers) layers.push_back(graph.layers[id].name);
  return {{"layers", std::move(layers)},
          {"replicas", stage.replicas},
          {"compute_us", to_us(stage.compute)},
          {"receive_us", to_us(stage.receive)},
          {"send_us", to_us(stage.send)},
          {"synchronization_us", to_us(stage.synchronization)},
          {"load_us", to_us(stage.load)},
          {"received_bytes", stage.received.count()},
          {"parameter_bytes", stage.parameters.count()},
          {"memory_bytes", stage.memory.count()}};
}

Json row_json(const LayerGraph& graph, const PartitionRow& row) {
  const Partition& partition = row.result.partition;
  Json stages = Json::array();
  for (const PartitionStage& stage : partition.stages) stages.push_back(stage_json(graph, stage));
  Json tied = Json::array();
  for (const TiedStages& each : tied_stages(graph, partition)) {
    tied.push_back(
        {{"tied", each.tied}, {"stages", each.stages}, {"bytes", each.parameters.count()}});
  }
  return {{"accelerators", row.accelerators},
          {"used", partition.accelerators()},
          {"method", to_string(row.result.method)},
          {"groups", row.result.groups},
          {"down_sets", row.result.down_sets},
          {"load_us", to_us(partition.load())},
          {"lower_bound_us", to_us(row.result.lower_bound)},
          {"bottleneck", partition.bottleneck},
          {"largest_memory_bytes", partition.largest_memory().count()},
          {"stages", std::move(stages)},
          {"tied", std::move(tied)}};
}

std::string method_text(const PartitionRow& row) {
  switch (row.result.method) {
    case PartitionMethod::given:
      return "as given";
    case PartitionMethod::exact:
      return fmt::format(
          "exact, {} down-sets of {} groups of layers", row.result.down_sets, row.result.groups);
    case PartitionMethod::some_cuts:
      return fmt::format(
          "the best between {} of too many down-sets, not proven; no load is below "
          "{}",
          row.result.down_sets,
          readable(row.result.lower_bound));
    case PartitionMethod::greedy:
      return fmt::format(
          "filled greedily, {} groups being too many, not proven; no load is below "
          "{}",
          row.result.groups,
          readable(row.result.lower_bound));
  }
  return {};
}

std::string layers_of(const LayerGraph& graph, const PartitionStage& stage) {
  const std::string& first = graph.layers[stage.layers.front()].name;
  if (stage.layers.size() == 1) return first;
  return fmt::format(
      "{} layers, {} to {}", stage.layers.size(), first, graph.layers[stage.layers.back()].name);
}

std::string title_of(const PartitionStudy& study, const PartitionRow& row) {
  const std::string machine =
      study.spec->machine.empty() ? std::string{} : fmt::format(", {}", study.spec->machine);
  const std::uint32_t used = row.result.partition.accelerators();
  const std::string idle =
      used < row.accelerators ? fmt::format(" of {}", row.accelerators) : std::string{};
  return fmt::format("{}: {} on {}{} accelerators{}",
                     study.spec->name,
                     study.spec->graph.name,
                     used,
                     idle,
                     machine);
}

std::string summary_of(const PartitionRow& row) {
  return fmt::format("bottleneck: stage {}, {} per microbatch; {}",
                     row.result.partition.bottleneck,
                     readable(row.result.partition.load()),
                     method_text(row));
}

}  // namespace

PartitionStudy run_partition_study(const PartitionSpec& spec,
                                   const StopFlag* stop,
                                   const PartitionProgress& progress) {
  const PartitionProgress watched = [&](double share) {
    if (stop_requested(stop)) throw Interrupted("stopped");
    if (progress) progress(share);
  };
  PartitionStudy study{.spec = &spec, .rows = {}};
  for (const std::uint32_t accelerators : spec.accelerators) {
    if (stop_requested(stop)) throw Interrupted("stopped");
    PartitionRow row;
    row.accelerators = accelerators;
    if (!spec.stage_of.empty()) {
      row.result.partition =
          make_partition(spec.graph, spec.times, spec.stage_of, spec.replicas, spec.request.rules);
      row.result.groups = spec.graph.layers.size();
    } else {
      PartitionRequest request = spec.request;
      request.accelerators = accelerators;
      request.most_replicas = std::min(request.most_replicas, accelerators);
      row.result = partition_layers(spec.graph, spec.times, request, watched);
    }
    study.rows.push_back(std::move(row));
  }
  return study;
}

std::string partition_json(const PartitionStudy& study) {
  const PartitionSpec& spec = *study.spec;
  Json rows = Json::array();
  for (const PartitionRow& row : study.rows) rows.push_back(row_json(spec.graph, row));
  const Json json{{"schedlab", "partition_results"},
                  {"version", 1},
                  {"name", spec.name},
                  {"description", spec.description},
                  {"model", spec.graph.name},
                  {"machine", spec.machine},
                  {"samples", spec.graph.samples},
                  {"pass", spec.request.rules.training ? "training" : "forward"},
                  {"layers", spec.graph.layers.size()},
                  {"rows", std::move(rows)}};
  return json.dump(2) + "\n";
}

std::string partition_text(const PartitionStudy& study) {
  const LayerGraph& graph = study.spec->graph;
  constexpr std::size_t most_stages = 40;
  std::string text;
  for (const PartitionRow& row : study.rows) {
    const std::vector<PartitionStage>& stages = row.result.partition.stages;
    text += fmt::format("{}\n{}\n", title_of(study, row), summary_of(row));
    text += fmt::format("{:>5}  {:>8}  {:>12}  {:>12}  {:>12}  {:>12}  layers\n",
                        "stage",
                        "replicas",
                        "load",
                        "compute",
                        "transfers",
                        "memory");
    for (std::size_t i = 0; i < std::min(stages.size(), most_stages); ++i) {
      const PartitionStage& stage = stages[i];
      text += fmt::format("{:>5}  {:>8}  {:>12}  {:>12}  {:>12}  {:>12}  {}\n",
                          i,
                          stage.replicas,
                          readable(stage.load),
                          readable(stage.compute),
                          readable(stage.receive + stage.send),
                          readable(stage.memory),
                          layers_of(graph, stage));
    }
    if (stages.size() > most_stages) {
      text += fmt::format("  ... {} more stages\n", stages.size() - most_stages);
    }
    for (const TiedStages& tied : tied_stages(graph, row.result.partition)) {
      text += fmt::format("shared parameters \"{}\" ({}) are on stages {}\n",
                          tied.tied,
                          readable(tied.parameters),
                          fmt::join(tied.stages, ", "));
    }
  }
  return text;
}

std::string layers_picture(const PartitionStudy& study, const PartitionRow& row) {
  const LayerGraph& graph = study.spec->graph;
  LayerPicture picture;
  picture.title = title_of(study, row);
  picture.subtitle = summary_of(row);
  for (const LayerId id : graph.layers.ids()) {
    PicturedLayer layer;
    layer.name = graph.layers[id].name;
    layer.stage = row.result.partition.stage_of[id];
    for (const LayerId input : graph.layers[id].inputs) layer.inputs.push_back(input.value());
    picture.layers.push_back(std::move(layer));
  }
  return layer_picture_svg(picture);
}

std::string stage_loads_picture(const PartitionStudy& study, const PartitionRow& row) {
  const StageRules& rules = study.spec->request.rules;
  const auto ms = [](Duration duration) { return to_us(duration) / 1000; };
  PartsFigure figure;
  figure.title = title_of(study, row);
  figure.subtitle = summary_of(row);
  figure.x_label = rules.overlapped
                       ? "ms per microbatch, parts side by side: the longest is the load"
                       : "ms per microbatch";
  figure.part_names = {"compute", "receive", "send", "synchronization"};
  figure.signed_sums = false;
  for (std::size_t i = 0; i < row.result.partition.stages.size(); ++i) {
    const PartitionStage& stage = row.result.partition.stages[i];
    const auto shared = static_cast<double>(stage.replicas);
    figure.rows.push_back(
        {.name = fmt::format("stage {}{}: {}",
                             i,
                             stage.replicas > 1 ? fmt::format(" x {}", stage.replicas) : "",
                             layers_of(study.spec->graph, stage)),
         .parts = {ms(stage.compute) / shared,
                   ms(stage.receive) / shared,
                   ms(stage.send) / shared,
                   ms(stage.synchronization) / static_cast<double>(rules.microbatches)}});
  }
  return parts_figure_svg(figure);
}

std::string partition_results_schema() {
  const Json integer{{"type", "integer"}, {"minimum", 0}};
  const Json number{{"type", "number"}, {"minimum", 0}};
  const Json text{{"type", "string"}};
  const auto list = [](const Json& items) { return Json{{"type", "array"}, {"items", items}}; };
  Json stage{{"layers", list(text)}};
  for (const char* key : {"compute_us", "receive_us", "send_us", "synchronization_us", "load_us"}) {
    stage[key] = number;
  }
  for (const char* key : {"replicas", "received_bytes", "parameter_bytes", "memory_bytes"}) {
    stage[key] = integer;
  }
  Json row{{"method", {{"enum", {"given", "exact", "some_cuts", "greedy"}}}},
           {"load_us", number},
           {"lower_bound_us", number},
           {"stages", list(schema::whole_object(stage))},
           {"tied",
            list(schema::whole_object(
                {{"tied", text}, {"stages", list(integer)}, {"bytes", integer}}))}};
  for (const char* key :
       {"accelerators", "used", "groups", "down_sets", "bottleneck", "largest_memory_bytes"}) {
    row[key] = integer;
  }
  return schema::file("SchedLab results of partition",
                      "partition_results",
                      schema::whole_object({{"name", text},
                                            {"description", text},
                                            {"model", text},
                                            {"machine", text},
                                            {"samples", integer},
                                            {"pass", {{"enum", {"training", "forward"}}}},
                                            {"layers", integer},
                                            {"rows", list(schema::whole_object(row))}}))
      .dump(2);
}

}  // namespace schedlab
