// SPDX-License-Identifier: Apache-2.0
#include "studies/partition/partition_study.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/chart_parts.hpp"
#include "notebooks_export/layer_picture.hpp"
#include "notebooks_export/report_document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using Json = schema::Json;

Fields<PartOf<LayerGraph, PartitionStage>> stage_fields() {
  using Of = PartOf<LayerGraph, PartitionStage>;
  using S = PartitionStage;
  const auto layers = [](const Of& of) {
    std::vector<std::string> names;
    for (const LayerId id : of.part.layers) names.push_back(of.whole.layers[id].name);
    return names;
  };
  return {{"layers", layers},
          inlined<Of>([](const Of& of) -> const S& { return of.part; },
                      {{"replicas", &S::replicas},
                       {"compute_us", in_us(&S::compute), from_zero},
                       {"receive_us", in_us(&S::receive), from_zero},
                       {"send_us", in_us(&S::send), from_zero},
                       {"synchronization_us", in_us(&S::synchronization), from_zero},
                       {"load_us", in_us(&S::load), from_zero},
                       {"received_bytes", &S::received},
                       {"parameter_bytes", &S::parameters},
                       {"memory_bytes", &S::memory}})};
}

Fields<PartOf<LayerGraph, PartitionRow>> row_fields() {
  using R = PartOf<LayerGraph, PartitionRow>;
  using T = TiedStages;
  const auto partition = [](const R& r) -> const Partition& { return r.part.result.partition; };
  const Fields<T> tied{{"tied", &T::tied}, {"stages", &T::stages}, {"bytes", &T::parameters}};
  return {
      {"accelerators", [](const R& r) { return r.part.accelerators; }},
      inlined<R>(partition, {"used", &Partition::accelerators}),
      {"method", [](const R& r) { return r.part.result.method; }},
      {"groups", [](const R& r) { return r.part.result.groups; }},
      {"down_sets", [](const R& r) { return r.part.result.down_sets; }},
      inlined<R>(partition, {"load_us", in_us(&Partition::load), from_zero}),
      {"lower_bound_us", [](const R& r) { return to_us(r.part.result.lower_bound); }, from_zero},
      inlined<R>(partition,
                 {{"bottleneck", &Partition::bottleneck},
                  {"largest_memory_bytes", &Partition::largest_memory}}),
      {"stages",
       [partition](const R& r) { return parts_of(r.whole, partition(r).stages); },
       stage_fields()},
      {"tied", [partition](const R& r) { return tied_stages(r.whole, partition(r)); }, tied}};
}

Fields<PartitionStudy> study_fields() {
  using S = PartitionStudy;
  static constexpr std::array<std::string_view, 2> passes{"training", "forward"};
  return {{"name", [](const S& s) { return s.spec->name; }},
          {"description", [](const S& s) { return s.spec->description; }},
          {"model", [](const S& s) { return s.spec->graph.name; }},
          {"machine", [](const S& s) { return s.spec->machine; }},
          {"samples", [](const S& s) { return s.spec->graph.samples; }, from_zero},
          {"pass",
           [](const S& s) { return s.spec->request.rules.training ? "training" : "forward"; },
           {.words = passes}},
          {"layers", [](const S& s) { return s.spec->graph.layers.size(); }},
          {"rows", [](const S& s) { return parts_of(s.spec->graph, s.rows); }, row_fields()}};
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
      request.max_replicas = std::min(request.max_replicas, accelerators);
      row.result = partition_layers(spec.graph, spec.times, request, watched);
    }
    study.rows.push_back(std::move(row));
  }
  return study;
}

std::string partition_json(const PartitionStudy& study) {
  Json json{{"schedlab", "partition_results"}, {"version", 1}};
  study_fields().add_to(json, study);
  return json.dump(2) + "\n";
}

std::string partition_text(const PartitionStudy& study) {
  const LayerGraph& graph = study.spec->graph;
  constexpr std::size_t max_stages = 40;
  std::string text;
  for (const PartitionRow& row : study.rows) {
    const std::vector<PartitionStage>& stages = row.result.partition.stages;
    text += fmt::format("{}\n{}\n", title_of(study, row), summary_of(row));
    PrintedTable table =
        empty_table({"stage", "replicas", "load", "compute", "transfers", "memory", "layers"}, 0);
    table.columns.back().is_number = false;
    for (std::size_t i = 0; i < std::min(stages.size(), max_stages); ++i) {
      const PartitionStage& stage = stages[i];
      table.rows.push_back({fmt::format("{}", i),
                            fmt::format("{}", stage.replicas),
                            readable(stage.load),
                            readable(stage.compute),
                            readable(stage.receive + stage.send),
                            readable(stage.memory),
                            layers_of(graph, stage)});
    }
    text += text_of(table);
    if (stages.size() > max_stages) {
      text += fmt::format("  ... {} more stages\n", stages.size() - max_stages);
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
  return schema::file("SchedLab results of partition", "partition_results", study_fields().schema())
      .dump(2);
}

}  // namespace schedlab
