// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/sampled_metrics.hpp"
#include "studies/sweep/file_schemas.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

Json metric_count() {
  return Json{{"type", "integer"}, {"minimum", 0}};
}
Json metric_number() {
  return Json{{"type", "number"}};
}
Json metric_text() {
  return Json{{"type", "string"}};
}
Json any_list(const Json& items) {
  return Json{{"type", "array"}, {"items", items}};
}

/// NAME_us and NAME_ps.
void add_time(Json& properties, const std::string& name) {
  properties[name + "_us"] = metric_number();
  properties[name + "_ps"] = Json{{"type", "integer"}};
}

/// Keys of this type, all at once.
Json keys_of(const Json& type, const std::vector<std::string>& names) {
  Json properties = Json::object();
  for (const std::string& name : names) properties[name] = type;
  return properties;
}

Json path_causes() {
  Json causes = Json::array();
  for (std::size_t i = 0; i < path_cause_count; ++i) {
    causes.push_back(std::string{to_string(static_cast<PathCause>(i))});
  }
  return causes;
}

Json path_schema() {
  Json properties = Json::object();
  add_time(properties, "running");
  add_time(properties, "slowed");
  for (const Json& cause : path_causes()) {
    add_time(properties, "waited_for_" + cause.get<std::string>());
  }
  add_time(properties, "tail");
  Json step = keys_of(metric_count(), {"waited_ps", "ran_ps", "slowed_ps"});
  step["task"] = metric_text();
  step["cause"] = Json{{"type", "string"}, {"enum", path_causes()}};
  properties["tasks"] = any_list(schema::whole_object(step));
  return schema::whole_object(properties);
}

Json bounds_schema() {
  Json properties = Json::object();
  for (const char* bound : {"critical_path", "work", "host_issue"}) add_time(properties, bound);
  properties["largest"] =
      Json{{"type", "string"}, {"enum", {"critical_path", "work", "host_issue"}}};
  properties["gap"] = metric_number();
  return schema::whole_object(properties);
}

Json samples_schema() {
  const Json summary = schema::whole_object(
      keys_of(metric_number(), {"mean", "mean_low", "mean_high", "median", "p5", "p95"}));
  Json properties{{"count", metric_count()}};
  std::vector<std::string> required{"count"};
  for (const SampledMetric& metric : sampled_metrics()) {
    properties[std::string{metric.name}] = summary;
    if (metric.name != "bubble_share") required.emplace_back(metric.name);  // pipelines have it
  }
  return schema::object(properties, required, {});
}

Json memory_schema() {
  Json holder = keys_of(metric_count(), {"tensors", "bytes"});
  holder["name"] = metric_text();
  Json properties =
      keys_of(metric_count(), {"capacity_bytes", "persistent_bytes", "peak_bytes", "peak_at_ps"});
  properties["device"] = metric_text();
  properties["held_at_peak"] = any_list(schema::whole_object(holder));
  return schema::whole_object(properties);
}

Json over_time_schema() {
  Json properties = keys_of(any_list(metric_number()), {"utilization", "running", "critical"});
  properties["slices"] = metric_count();
  return schema::whole_object(properties);
}

}  // namespace

std::string metrics_schema() {
  Json properties = keys_of(metric_text(), {"title", "policy", "machine"});
  for (const char* time : {"makespan",
                           "overlap",
                           "critical_busy",
                           "host_blocked",
                           "load",
                           "head_overhead",
                           "collective_wait"}) {
    add_time(properties, time);
  }
  properties.update(keys_of(metric_number(),
                            {"utilization",
                             "busy_share",
                             "mean_concurrency",
                             "overlap_share",
                             "matmul_share",
                             "host_busy_share",
                             "host_bound_share"}));
  properties.update(keys_of(metric_count(),
                            {"peak_memory_bytes",
                             "tasks",
                             "launches",
                             "host_calls",
                             "records",
                             "waits",
                             "queries",
                             "events",
                             "streams"}));
  Json stream = keys_of(
      metric_count(),
      {"tasks", "busy_ps", "idle_ps", "idle_before_ps", "idle_between_ps", "idle_after_ps"});
  stream["stream"] = metric_text();
  Json operation = keys_of(metric_count(), {"tasks", "running_ps", "on_critical_path_ps"});
  operation["operation"] = metric_text();
  properties["lower_bounds"] = bounds_schema();
  properties["stream_use"] = any_list(schema::whole_object(stream));
  properties["operation_use"] = any_list(schema::whole_object(operation));
  properties["critical_path"] = path_schema();

  // What only some runs have.
  Json contents = schema::whole_object(properties);
  Json& all = contents["properties"];
  all["bubble_share"] = metric_number();
  all["stage_peak_memory_bytes"] = any_list(metric_count());
  all["utilization_over_time"] = over_time_schema();
  all["samples"] = samples_schema();
  all["memory"] = any_list(memory_schema());
  return schema::file("SchedLab metrics", "metrics", contents).dump(2);
}

}  // namespace schedlab
