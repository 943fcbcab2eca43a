// SPDX-License-Identifier: Apache-2.0
#include "cli/buckets/bucket_spec.hpp"
#include "cli/ranks.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t largest_size = 1'000'000;               // assumed: of layers, units, classes
constexpr std::int64_t largest_bytes = 1'000'000'000'000'000;  // as in graph files

Json text(const char* doc) {
  return Json{{"type", "string"}, {"description", doc}};
}
Json word(const std::vector<std::string>& allowed, const char* doc) {
  return Json{{"type", "string"}, {"enum", allowed}, {"description", doc}};
}
Json integer(std::int64_t least, std::int64_t most, const char* doc) {
  return Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", doc}};
}
Json at_least_zero(const char* doc) {
  return Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1e12}, {"description", doc}};
}
Json object(Json properties, std::initializer_list<const char*> required, const char* doc) {
  return Json{{"type", "object"},
              {"properties", std::move(properties)},
              {"required", required},
              {"additionalProperties", false},
              {"description", doc}};
}
Json one_or_more(const Json& item) {
  return Json{
      {"anyOf", Json::array({item, {{"type", "array"}, {"items", item}, {"minItems", 1}}})}};
}

/// A data set of one kind: what belongs to it, and what all have.
Json data(const char* kind, Json properties, std::vector<std::string> required, const char* doc) {
  Json all{{"kind", {{"const", kind}}}, {"label", text("name in results")}};
  all.update(properties);
  if (std::string{kind} != "file") {
    all["sequences"] = integer(1, most_sequences, "how many are drawn");
    all["seed"] = integer(0, INT64_MAX, "of the draws; 1 if left out");
    required.emplace_back("sequences");
  }
  required.emplace_back("kind");
  Json schema = object(std::move(all), {}, doc);
  schema["required"] = required;
  return schema;
}

Json lengths() {
  const Json longest = integer(1, longest_accepted_length, "longest length");
  const Json pair{{"type", "array"},
                  {"items", {{"type", "number"}, {"minimum", 0}}},
                  {"minItems", 2},
                  {"maxItems", 2}};
  const Json weights{
      {"type", "array"}, {"items", pair}, {"minItems", 1}, {"description", "[length, weight]"}};
  return Json{
      {"anyOf",
       Json::array(
           {data("uniform",
                 {{"shortest", integer(1, longest_accepted_length, "1 if left out")},
                  {"longest", longest}},
                 {"longest"},
                 "every length equally likely"),
            data("power_law",
                 {{"longest", longest}, {"exponent", at_least_zero("a of (x / longest)^a")}},
                 {"longest", "exponent"},
                 "share up to x: (x / longest)^exponent"),
            data("log_normal",
                 {{"longest", longest},
                  {"median", at_least_zero("before the cut at the longest")},
                  {"sigma", at_least_zero("standard deviation of the logarithm")}},
                 {"longest", "median", "sigma"},
                 "the logarithm is normal"),
            data("histogram", {{"weights", weights}}, {"weights"}, "weights by length"),
            data("file",
                 {{"path", text("CSV file of lengths, relative to this file")}},
                 {"path"},
                 "the lengths of a data set")})}};
}

Json network() {
  return object(
      {{"layers", integer(1, largest_size, "as the workload's if left out")},
       {"hidden", integer(1, largest_size, "as the workload's if left out")},
       {"projection", integer(0, largest_size, "width of a layer's output; 0: hidden")},
       {"input", integer(1, largest_size, "as the workload's if left out")},
       {"classes",
        integer(0, largest_size, "of the output layer, which counts in time, too; 0: none")},
       {"output_copies", integer(1, 16, "arrays of scores; 2 if left out")},
       {"weight_copies", integer(1, 16, "3 if left out")},
       {"reserved_bytes", integer(0, largest_bytes, "context, work space")}},
      {},
      "what counts in memory, where it differs from the workload");
}

Json reading() {
  return object({{"bandwidth_gb_per_s", at_least_zero("0: reading takes no time")},
                 {"bytes_per_step", integer(0, largest_size * 1000, "of one sequence")},
                 {"latency_us", at_least_zero("per chunk")},
                 {"chunks_ahead", integer(0, largest_size, "read ahead of training; 1")}},
                {},
                "how chunks come from storage");
}

Json models() {
  return object(
      {{"build_us", at_least_zero("to build one model")},
       {"bytes", integer(0, largest_bytes, "of one stored model")},
       {"per_batch",
        word({"no", "serial", "overlapped"},
             "also work out models built for every batch, before its step or beside the last")}},
      {},
      "what unrolled models cost");
}

}  // namespace

std::string bucket_spec_schema() {
  std::vector<std::string> kinds = recompute_names();
  kinds.emplace_back("auto");
  const Json batch{{"anyOf",
                    Json::array({integer(1, largest_size, "sequences at once, on each rank"),
                                 word({"auto"}, "the largest that fits")})}};
  const Json training =
      object({{"batch", batch},
              {"recompute",
               word(kinds,
                    "as the workload's option; keep_backward if left out; auto: all but keep_all, "
                    "to be compared")},
              {"checkpoints", integer(0, largest_size, "of optimal; 0: as many as sqrt")},
              {"ranks", integer(1, most_ranks, "data parallel; 1 if left out")}},
             {"batch"},
             "one way to train");
  Json scenario{
      {"type", "object"},
      {"description", "a training step as in a spec of simulate; steps and batch are filled in"}};
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "SchedLab buckets"}};
  schema.update(
      object({{"schedlab", {{"const", "buckets"}}},
              {"version", {{"const", 1}}},
              {"name", text("title of pictures and report")},
              {"description", text("what is asked")},
              {"lengths", one_or_more(lengths())},
              {"training", one_or_more(training)},
              {"rule", one_or_more(word(boundary_rule_names(), "all if left out"))},
              {"buckets", one_or_more(integer(1, 4096, "number of buckets"))},
              {"batch_multiple", integer(1, 4096, "the largest batch is a multiple of it; 1")},
              {"scenario", scenario},
              {"network", network()},
              {"chunk_sequences", integer(0, most_sequences, "read and sorted together; 0: all")},
              {"incomplete", word({"keep", "drop"}, "batches that a chunk does not fill; keep")},
              {"seed", integer(0, INT64_MAX, "of both shuffles; 1")},
              {"reading", reading()},
              {"models", models()}},
             {"schedlab", "version", "lengths", "training", "buckets", "scenario"},
             "passes over sequences of different lengths"));
  return schema.dump(2);
}

}  // namespace schedlab
