// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using ExplainJson = nlohmann::ordered_json;

void put_time(ExplainJson& json, const std::string& name, Duration time) {
  json[name + "_us"] = to_us(time);
  json[name + "_ps"] = time.count();
}

double share_of(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : to_us(part) / to_us(whole);
}

/// {word: {share, time}} for every word of an enum.
template <class Word, class Times>
ExplainJson shares_json(const Times& times, Duration whole) {
  ExplainJson json = ExplainJson::object();
  for (std::size_t i = 0; i < times.size(); ++i) {
    ExplainJson one{{"share", share_of(times[i], whole)}};
    put_time(one, "time", times[i]);
    json[std::string{to_string(static_cast<Word>(i))}] = std::move(one);
  }
  return json;
}

/// {word_ps: time}.
template <class Word, class Times>
void put_times(ExplainJson& json, const Times& times) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    json[fmt::format("{}_ps", to_string(static_cast<Word>(i)))] = times[i].count();
  }
}

ExplainJson path_json(const TraceCriticalPath& path) {
  ExplainJson json{{"tasks", path.steps.size()}};
  put_time(json, "running", path.running);
  put_time(json, "slowed", path.slowed);
  for (std::size_t i = 0; i < path_cause_count; ++i) {
    put_time(json,
             fmt::format("waited_for_{}", to_string(static_cast<PathCause>(i))),
             path.waited.at(i));
  }
  put_time(json, "tail", path.tail);
  return json;
}

ExplainJson streams_json(const Explanation& explanation) {
  IdVector<StreamId, CauseTimes> causes(explanation.run.plan.streams.size());
  for (const StreamGap& gap : explanation.attribution.gaps) {
    CauseTimes& sums = causes[gap.stream];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += gap.by_cause[i];
  }
  ExplainJson streams = ExplainJson::array();
  for (const StreamUse& use : explanation.metrics.stream_use) {
    ExplainJson one{{"stream", explanation.run.plan.stream_name(use.stream)},
                    {"tasks", use.tasks},
                    {"busy_ps", use.busy.count()},
                    {"idle_ps", use.idle.count()}};
    put_times<WaitCause>(one, causes[use.stream]);
    streams.push_back(std::move(one));
  }
  return streams;
}

ExplainJson what_if_json(const WhatIfTable& table) {
  ExplainJson json;
  put_time(json, "trace", table.trace);
  if (!table.note.empty()) {
    json["note"] = table.note;
    return json;
  }
  put_time(json, "replay", table.replay);
  json["replay_error"] = table.replay_error();
  if (!table.replay_decision.empty()) json["replay_decision"] = table.replay_decision;
  if (!table.warning.empty()) json["warning"] = table.warning;
  ExplainJson changes = ExplainJson::array();
  for (const WhatIf& change : table.changes) {
    ExplainJson one{{"name", change.name}, {"description", change.description}};
    if (change.makespan) {
      put_time(one, "makespan", *change.makespan);
      put_time(one, "saved", table.replay - *change.makespan);
      if (*change.makespan > Duration{0})
        one["speed_up"] = to_us(table.replay) / to_us(*change.makespan);
    }
    if (!change.note.empty()) one["note"] = change.note;
    changes.push_back(std::move(one));
  }
  json["changes"] = std::move(changes);
  if (table.break_even) {
    ExplainJson one;
    put_time(one, "mean_operator", table.break_even->mean_operator);
    put_time(one, "closed_form", table.break_even->closed_form);
    put_time(one, "simulated", table.break_even->simulated);
    json["break_even"] = std::move(one);
  }
  return json;
}

ExplainJson any_object() {
  return {{"type", "object"}};
}

ExplainJson what_if_schema() {
  const ExplainJson text{{"type", "string"}};
  const ExplainJson number{{"type", "number"}};
  const ExplainJson time{{"type", "integer"}};
  const ExplainJson times{{"type", "object"}, {"additionalProperties", number}};
  const ExplainJson change = schema::object({{"name", text},
                                             {"description", text},
                                             {"makespan_us", number},
                                             {"makespan_ps", time},
                                             {"saved_us", number},
                                             {"saved_ps", time},
                                             {"speed_up", number},
                                             {"note", text}},
                                            {"name", "description"});
  return schema::object({{"trace_us", number},
                         {"trace_ps", time},
                         {"replay_us", number},
                         {"replay_ps", time},
                         {"replay_error", number},
                         {"note", text},
                         {"replay_decision", text},
                         {"warning", text},
                         {"changes", {{"type", "array"}, {"items", change}}},
                         {"break_even", times}},
                        {"trace_us", "trace_ps"});
}

}  // namespace

std::string explanation_json(const Explanation& explanation) {
  const Attribution& where = explanation.attribution;
  const Duration all_devices = where.makespan * static_cast<std::int64_t>(where.devices);
  Duration idle{0};
  for (const Duration part : where.idle_by_cause) idle += part;
  ExplainJson json{{"schedlab", "explanation"},
                   {"version", 1},
                   {"title", explanation.run.title},
                   {"origin", explanation.run.origin},
                   {"notes", explanation.run.notes},
                   {"devices", where.devices}};
  put_time(json, "makespan", where.makespan);
  json["decision"] = who_decides(explanation.metrics.critical_path);
  json["bound"] = shares_json<DeviceBound>(where.bound, all_devices);
  json["path_bound"] = shares_json<PathBound>(where.path_bound, where.makespan);
  json["idle_by_cause"] = shares_json<WaitCause>(where.idle_by_cause, idle);
  json["critical_path"] = path_json(explanation.metrics.critical_path);
  json["streams"] = streams_json(explanation);
  json["regions"] = ExplainJson::array();
  for (const RegionShare& region : where.regions) {
    ExplainJson one{{"tag", region.tag}, {"value", region.value}, {"tasks", region.tasks}};
    put_times<DeviceBound>(one, region.devices);
    json["regions"].push_back(std::move(one));
  }
  json["bins"] = ExplainJson::array();
  for (const BoundBin& bin : where.bins) {
    ExplainJson one{{"begin_ps", bin.begin.time_since_epoch().count()},
                    {"end_ps", bin.end.time_since_epoch().count()}};
    put_times<DeviceBound>(one, bin.devices);
    ExplainJson path = ExplainJson::object();
    put_times<PathBound>(path, bin.path);
    one["path"] = std::move(path);
    json["bins"].push_back(std::move(one));
  }
  if (explanation.what_if) json["what_if"] = what_if_json(*explanation.what_if);
  return json.dump(1) + "\n";
}

std::string explanation_schema() {
  const ExplainJson text{{"type", "string"}};
  const ExplainJson number{{"type", "number"}};
  const ExplainJson count{{"type", "integer"}, {"minimum", 0}};
  const ExplainJson time{{"type", "integer"}};
  const ExplainJson share = schema::object(
      {{"share", number}, {"time_us", number}, {"time_ps", time}}, {"share", "time_us", "time_ps"});
  const auto of_words = [&]<class Word>(Word, std::size_t words) {
    ExplainJson properties = ExplainJson::object();
    for (std::size_t i = 0; i < words; ++i) {
      properties[std::string{to_string(static_cast<Word>(i))}] = share;
    }
    return schema::object(properties, {});
  };
  const ExplainJson times{{"type", "object"}, {"additionalProperties", number}};
  const ExplainJson list{{"type", "array"}, {"items", any_object()}};
  const ExplainJson what_if = what_if_schema();
  const ExplainJson file =
      schema::object({{"title", text},
                      {"origin", text},
                      {"notes", {{"type", "array"}, {"items", text}}},
                      {"devices", count},
                      {"makespan_us", number},
                      {"makespan_ps", time},
                      {"decision", text},
                      {"bound", of_words(DeviceBound{}, device_bound_count)},
                      {"path_bound", of_words(PathBound{}, path_bound_count)},
                      {"idle_by_cause", of_words(WaitCause{}, wait_cause_count)},
                      {"critical_path", times},
                      {"streams", list},
                      {"regions", list},
                      {"bins", list},
                      {"what_if", what_if}},
                     {"title",
                      "makespan_ps",
                      "bound",
                      "path_bound",
                      "idle_by_cause",
                      "critical_path",
                      "streams",
                      "regions",
                      "bins"});
  return schema::file("SchedLab explanation", "explanation", file).dump(2);
}

}  // namespace schedlab
