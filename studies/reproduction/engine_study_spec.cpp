// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/engine_study_spec.hpp"

#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/schema_check.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <utility>

namespace schedlab {
namespace {

using Json = schema::Json;

Json described(Json schema, const char* doc) {
  schema["description"] = doc;
  return schema;
}

Json list(Json item, std::size_t least, const char* doc) {
  return Json{
      {"type", "array"}, {"items", std::move(item)}, {"minItems", least}, {"description", doc}};
}

Json engine_class_words() {
  Json words = Json::array();
  // data_split is what no class was timed for.
  for (std::size_t i = 0; i + 1 < engine_class_count; ++i) {
    words.push_back(std::string{to_string(static_cast<EngineClass>(i))});
  }
  return words;
}

const Json& word() {
  static const Json schema{{"type", "string"}};
  return schema;
}
const Json& above_zero() {
  static const Json schema{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1e12}};
  return schema;
}
const Json& count() {
  static const Json schema{{"type", "integer"}, {"minimum", 1}, {"maximum", 4096}};
  return schema;
}

[[noreturn]] void refuse(const EngineStudySpec& spec,
                         const std::string& pointer,
                         const std::string& found,
                         const std::string& expected) {
  throw InputError(
      {.file = spec.file, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
}

/// What the schema cannot say.
void expect_consistent(const EngineStudySpec& spec) {
  std::set<EngineClass> classes;
  for (const TimedClass& each : spec.classes) {
    if (!classes.insert(each.engine_class).second) {
      refuse(spec,
             "/classes",
             fmt::format("class {} twice", to_string(each.engine_class)),
             "each class once");
    }
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec.networks.size(); ++i) {
    const PublishedNetwork& network = spec.networks[i];
    const std::string pointer = fmt::format("/networks/{}", i);
    if (!names.insert(network.workload).second) {
      refuse(spec, pointer, fmt::format("\"{}\" twice", network.workload), "each network once");
    }
    for (const std::vector<double>* times : {&network.array_ms, &network.management_ms}) {
      if (times->size() == spec.classes.size()) continue;
      refuse(spec,
             pointer,
             fmt::format("{} times", times->size()),
             fmt::format("{}, one for each of the classes", spec.classes.size()));
    }
  }
  for (const std::string& policy : spec.policies) static_cast<void>(find_policy(policy));
}

}  // namespace

EngineStudySpec parse_engine_study(const std::string& text, const std::string& file) {
  read_checked_json(text, engine_study_schema(), file);
  const Json json = Json::parse(text);
  EngineStudySpec spec;
  spec.file = file;
  spec.machine = json.at("machine");
  spec.batch = json.at("batch");
  for (const Json& each : json.at("classes")) {
    spec.classes.push_back(
        {.engine_class = *enum_from<EngineClass>(each.at("class").get<std::string>()),
         .operations = each.at("operations").get<std::vector<std::string>>()});
  }
  for (const Json& each : json.at("networks")) {
    spec.networks.push_back({.workload = each.at("workload"),
                             .array_ms = each.at("array_ms").get<std::vector<double>>(),
                             .management_ms = each.at("management_ms").get<std::vector<double>>(),
                             .array_step_s = each.at("array_step_s"),
                             .management_step_s = each.at("management_step_s")});
  }
  spec.operator_shares = json.at("operator_shares").get<std::vector<double>>();
  spec.splits = json.at("splits").get<std::vector<std::int64_t>>();
  spec.policies = json.at("policies").get<std::vector<std::string>>();
  spec.scheduling_us = json.value("scheduling_us", std::vector<double>{0.0});
  expect_consistent(spec);
  return spec;
}

std::string engine_study_schema() {
  const Json timed = schema::object(
      {{"class", described({{"type", "string"}, {"enum", engine_class_words()}}, "of operators")},
       {"operations", list(word(), 1, "names of the operations that were timed")}},
      {"class", "operations"},
      "a class of operators");
  const Json network = schema::object(
      {{"workload", described(word(), "name of the workload")},
       {"array_ms", list(above_zero(), 1, "times of the classes on the array")},
       {"management_ms", list(above_zero(), 1, "the same on a management core")},
       {"array_step_s", described(above_zero(), "of a training step on the array")},
       {"management_step_s", described(above_zero(), "the same on a management core")}},
      {"workload", "array_ms", "management_ms", "array_step_s", "management_step_s"},
      "published times of a network on one core group");
  const Json not_negative{{"type", "number"}, {"minimum", 0}, {"maximum", 1e9}};
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "SchedLab study of an acceleration engine"}};
  schema.update(schema::object(
      {{"schedlab", {{"const", "engine_study"}}},
       {"version", {{"const", 1}}},
       {"name", word()},
       {"machine", described(word(), "name or path of the machine")},
       {"batch", described(count(), "images of a step")},
       {"classes", list(timed, 1, "what was timed")},
       {"networks", list(network, 3, "published times")},
       {"operator_shares",
        list({{"type", "number"}, {"minimum", 0}, {"maximum", 1}},
             1,
             "of the time beside the classes what each operator takes whatever its size")},
       {"splits", list(count(), 1, "slices of the batch")},
       {"policies", list(word(), 1, "policies on all core groups")},
       {"scheduling_us", list(not_negative, 1, "what handing an operator to a core group takes")}},
      {"schedlab",
       "machine",
       "batch",
       "classes",
       "networks",
       "operator_shares",
       "splits",
       "policies"},
      "costs of operator classes fitted to published times, and what follows from them"));
  return schema.dump(2);
}

}  // namespace schedlab
