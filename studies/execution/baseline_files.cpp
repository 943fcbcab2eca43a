// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/csv.hpp"
#include "sim/base/schema_parts.hpp"
#include "sim/sweep/table.hpp"
#include "studies/base/version.hpp"
#include "studies/execution/baseline.hpp"
#include "workloads/models/recurrent/recurrent_entries.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <variant>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::vector<double> sorted_us(const CallTimes& times) {
  std::vector<double> us;
  for (const Duration run : times.runs) us.push_back(to_us(run));
  std::sort(us.begin(), us.end());
  return us;
}

Json to_json(const CallTimes& times) {
  Json runs = Json::array();
  for (const Duration run : times.runs) runs.push_back(to_us(run));
  return {{"call", to_string(times.call)},
          {"median_us", times.median_us()},
          {"min_us", sorted_us(times).front()},
          {"max_us", sorted_us(times).back()},
          {"runs_us", std::move(runs)}};
}

Json to_json(const BaselineVariant& variant) {
  Json calls = Json::array();
  for (const CallTimes& times : variant.calls) calls.push_back(to_json(times));
  Json json{{"algorithm", variant.variant.algorithm},
            {"launch", variant.variant.launch},
            {"note", variant.note},
            {"calls", std::move(calls)}};
  if (variant.difference) {
    json["difference"] = *variant.difference;
    json["worst_output"] = variant.worst_output;
  }
  if (variant.in_flight) {
    json["kernels_in_flight"] = {{"kernels", variant.in_flight->kernels},
                                 {"streams", variant.in_flight->streams},
                                 {"busy_us", to_us(variant.in_flight->busy)},
                                 {"mean", variant.in_flight->mean},
                                 {"max", variant.in_flight->max}};
  }
  return json;
}

Json to_json(const BaselineWorkload& workload) {
  const RecurrentNames words = network_names(workload.spec);
  Json network{{"kind", words.workload}};
  for (const auto& [name, value] : words.options) {
    std::visit([&network, &key = name](const auto& v) { network[key] = v; }, value);
  }
  Json variants = Json::array();
  for (const BaselineVariant& variant : workload.variants) variants.push_back(to_json(variant));
  return {{"label", workload.label},
          {"network", std::move(network)},
          {"variants", std::move(variants)}};
}

}  // namespace

std::string baseline_json(const Baselines& baselines) {
  Json workloads = Json::array();
  for (const BaselineWorkload& workload : baselines.workloads) {
    workloads.push_back(to_json(workload));
  }
  const Json json{{"schedlab", "baseline"},
                  {"version", 1},
                  {"program", program_version()},
                  {"library", to_string(baselines.library)},
                  {"description", baselines.description},
                  {"date", baselines.date},
                  {"repetitions", baselines.repetitions},
                  {"warm_up", baselines.warm_up},
                  {"seed", baselines.seed},
                  {"profiled", baselines.profiled},
                  {"workloads", std::move(workloads)}};
  return json.dump(2) + '\n';
}

std::string baseline_schema() {
  const Json text{{"type", "string"}};
  const Json count{{"type", "integer"}, {"minimum", 0}};
  const Json time{{"type", "number"}, {"minimum", 0}};
  const auto list = [](const Json& item) { return Json{{"type", "array"}, {"items", item}}; };
  const Json call = schema::object(
      {{"call", {{"enum", {"forward", "backward", "backward_data", "backward_weights"}}}},
       {"median_us", time},
       {"min_us", time},
       {"max_us", time},
       {"runs_us", list(time)}},
      {"call", "median_us", "min_us", "max_us", "runs_us"});
  const Json in_flight = schema::object(
      {{"kernels", count}, {"streams", count}, {"busy_us", time}, {"mean", time}, {"max", count}},
      {"kernels", "streams", "busy_us", "mean", "max"});
  const Json variant = schema::object({{"algorithm", text},
                                       {"launch", {{"enum", {"eager", "graph_launch"}}}},
                                       {"note", text},
                                       {"calls", list(call)},
                                       {"difference", {{"type", {"number", "null"}}}},
                                       {"worst_output", text},
                                       {"kernels_in_flight", in_flight}},
                                      {"algorithm", "launch", "note", "calls"});
  const Json network{{"type", "object"},
                     {"properties", {{"kind", {{"enum", {"lstm", "gru"}}}}}},
                     {"required", {"kind"}},
                     {"additionalProperties", {{"type", {"string", "integer"}}}}};
  const Json workload =
      schema::object({{"label", text}, {"network", network}, {"variants", list(variant)}},
                     {"label", "network", "variants"});
  const Json file = schema::object({{"program", text},
                                    {"library", {{"enum", enum_names<RnnLibrary>()}}},
                                    {"description", text},
                                    {"date", text},
                                    {"repetitions", count},
                                    {"warm_up", count},
                                    {"seed", count},
                                    {"profiled", {{"type", "boolean"}}},
                                    {"workloads", list(workload)}},
                                   {"library", "description", "workloads"});
  return schema::file(
             "SchedLab baseline: times of a vendor library's recurrent networks", "baseline", file)
      .dump(2);
}

std::string baseline_csv(const Baselines& baselines) {
  Table table;
  for (const char* axis : {"workload", "library", "algorithm", "launch", "call"}) {
    table.columns.push_back({.name = axis, .role = ColumnRole::axis});
  }
  for (const char* metric : {"median_us", "min_us", "max_us", "runs"}) {
    table.columns.push_back({.name = metric, .role = ColumnRole::metric});
  }
  for (const BaselineWorkload& workload : baselines.workloads) {
    for (const BaselineVariant& variant : workload.variants) {
      for (const CallTimes& times : variant.calls) {
        const std::vector<double> us = sorted_us(times);
        table.rows.push_back({workload.label,
                              std::string{to_string(baselines.library)},
                              variant.variant.algorithm,
                              variant.variant.launch,
                              std::string{to_string(times.call)},
                              times.median_us(),
                              us.front(),
                              us.back(),
                              static_cast<std::int64_t>(us.size())});
      }
    }
  }
  return table_csv(table);
}

std::string baseline_text(const Baselines& baselines) {
  std::string text =
      fmt::format("{}, {}, us\n",
                  baselines.description,
                  baselines.profiled ? std::string{"one run under the profiler, which costs time"}
                                     : fmt::format("median of {} runs", baselines.repetitions));
  const auto out = std::back_inserter(text);
  for (const BaselineWorkload& workload : baselines.workloads) {
    fmt::format_to(out, "{}\n", workload.label);
    for (const BaselineVariant& variant : workload.variants) {
      fmt::format_to(out, "  {:<24}{:<14}", variant.variant.algorithm, variant.variant.launch);
      if (!variant.note.empty()) {
        fmt::format_to(out, "not run: {}\n", variant.note);
        continue;
      }
      for (const CallTimes& times : variant.calls) {
        fmt::format_to(out, "{} {:.1f}  ", to_string(times.call), times.median_us());
      }
      if (variant.difference) {
        fmt::format_to(out, "differs by {:.2g} ({})", *variant.difference, variant.worst_output);
      }
      if (variant.in_flight) {
        fmt::format_to(
            out,
            "; backward: {} kernels in {} streams, {:.2f} at once on average, {} at most",
            variant.in_flight->kernels,
            variant.in_flight->streams,
            variant.in_flight->mean,
            variant.in_flight->max);
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace schedlab
