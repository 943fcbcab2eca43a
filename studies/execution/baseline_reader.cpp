// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "studies/base/former_keys.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/execution/baseline.hpp"
#include "workloads/models/recurrent/recurrent_entries.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace schedlab {
namespace {

using Json = nlohmann::json;

RnnCall call_from(const std::string& word) {
  std::size_t call = 0;
  while (call + 1 < rnn_call_count && to_string(static_cast<RnnCall>(call)) != word) ++call;
  return static_cast<RnnCall>(call);
}

BaselineVariant variant_from(const Json& json) {
  BaselineVariant variant;
  variant.variant = {json.at("algorithm"), json.at("launch")};
  variant.note = json.at("note");
  for (const Json& one : json.at("calls")) {
    CallTimes& times = variant.calls.emplace_back();
    times.call = call_from(one.at("call"));
    for (const double us : one.at("runs_us")) times.runs.push_back(from_us(us));
  }
  if (json.contains("difference") && json.at("difference").is_number()) {
    variant.difference = json.at("difference");
    variant.worst_output = json.value("worst_output", "");
  }
  if (json.contains("kernels_in_flight")) {
    const Json& found = json.at("kernels_in_flight");
    variant.in_flight = {.kernels = found.at("kernels"),
                         .streams = found.at("streams"),
                         .busy = from_us(found.at("busy_us")),
                         .mean = found.at("mean"),
                         .max = found.at("max")};
  }
  return variant;
}

/// A network is what the workload of that name makes of the same options.
RecurrentSpec network_from(const Json& json, const std::string& file, const std::string& pointer) {
  std::map<std::string, OptionValue> given;
  for (const auto& [name, value] : json.items()) {
    if (name == "kind") continue;
    if (value.is_string()) {
      given[name] = value.get<std::string>();
    } else {
      given[name] = value.get<std::int64_t>();
    }
  }
  const std::string kind = json.at("kind");  // one that there is: the schema says so
  const auto info = std::find_if(workloads().begin(),
                                 workloads().end(),
                                 [&](const WorkloadInfo& one) { return one.name == kind; });
  try {
    const Options options = resolve_options("workload " + kind, info->options, given);
    return recurrent_spec(kind, options).value();
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    problem.file = file;
    problem.pointer = pointer + problem.pointer;
    throw InputError(problem);
  }
}

}  // namespace

Baselines read_baselines(const std::string& file, std::ostream* notes) {
  const std::string text = with_new_keys(read_file(file), "baseline", file, notes);
  read_checked_json(text, baseline_schema(), file);
  const Json json = Json::parse(text);
  Baselines all;
  all.library = enum_from<RnnLibrary>(json.at("library").get<std::string>()).value();
  all.description = json.at("description");
  all.date = json.value("date", "");
  all.repetitions = json.value("repetitions", 0U);
  all.warm_up = json.value("warm_up", 0U);
  all.seed = json.value("seed", std::uint64_t{0});
  all.profiled = json.value("profiled", false);
  const Json& workloads = json.at("workloads");
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    BaselineWorkload& workload = all.workloads.emplace_back();
    workload.label = workloads[i].at("label");
    workload.spec =
        network_from(workloads[i].at("network"), file, fmt::format("/workloads/{}/network", i));
    for (const Json& variant : workloads[i].at("variants")) {
      workload.variants.push_back(variant_from(variant));
    }
  }
  return all;
}

}  // namespace schedlab
