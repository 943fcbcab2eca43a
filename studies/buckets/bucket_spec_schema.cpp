// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/spec/ranks.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

constexpr std::int64_t largest_size = 1'000'000;               // assumed: of layers, units, classes
constexpr std::int64_t largest_bytes = 1'000'000'000'000'000;  // as in graph files

/// A data set of one kind: what belongs to it, and what all have.
Json data(const char* kind,
          const Json& properties,
          std::vector<std::string> required,
          const char* doc) {
  Json all{{"kind", {{"const", kind}}}, {"label", schema::text("name in results")}};
  all.update(properties);
  if (std::string{kind} != "file") {
    all["sequences"] = schema::integer(1, max_sequences, "how many are drawn");
    all["seed"] = schema::integer(0, INT64_MAX, "of the draws; 1 if left out");
    required.emplace_back("sequences");
  }
  required.emplace_back("kind");
  return schema::object(all, required, doc);
}

Json lengths() {
  const Json longest = schema::integer(1, longest_accepted_length, "longest length");
  const Json pair{{"type", "array"},
                  {"items", {{"type", "number"}, {"minimum", 0}}},
                  {"minItems", 2},
                  {"maxItems", 2}};
  const Json weights = schema::list(pair, "[length, weight]");
  return Json{
      {"anyOf",
       Json::array(
           {data("uniform",
                 {{"shortest", schema::integer(1, longest_accepted_length, "1 if left out")},
                  {"longest", longest}},
                 {"longest"},
                 "every length equally likely"),
            data("power_law",
                 {{"longest", longest}, {"exponent", schema::number("a of (x / longest)^a")}},
                 {"longest", "exponent"},
                 "share up to x: (x / longest)^exponent"),
            data("log_normal",
                 {{"longest", longest},
                  {"median", schema::number("before the cut at the longest")},
                  {"sigma", schema::number("standard deviation of the logarithm")}},
                 {"longest", "median", "sigma"},
                 "the logarithm is normal"),
            data("histogram", {{"weights", weights}}, {"weights"}, "weights by length"),
            data("file",
                 {{"path", schema::text("CSV file of lengths, relative to this file")}},
                 {"path"},
                 "the lengths of a data set")})}};
}

Json network() {
  return schema::object(
      {{"layers", schema::integer(1, largest_size, "as the workload's if left out")},
       {"hidden", schema::integer(1, largest_size, "as the workload's if left out")},
       {"projection", schema::integer(0, largest_size, "width of a layer's output; 0: hidden")},
       {"input", schema::integer(1, largest_size, "as the workload's if left out")},
       {"classes",
        schema::integer(
            0, largest_size, "of the output layer, which counts in time, too; 0: none")},
       {"output_copies", schema::integer(1, 16, "arrays of scores; 2 if left out")},
       {"weight_copies", schema::integer(1, 16, "3 if left out")},
       {"hidden_kept",
        schema::integer(0, 1, "1: data drop keeps the hidden state beside its projection; 0")},
       {"reserved_bytes", schema::integer(0, largest_bytes, "context, work space")}},
      {},
      "what counts in memory, where it differs from the workload");
}

Json reading() {
  return schema::object(
      {{"bandwidth_gb_per_s", schema::number("of one producer; 0: reading takes no time")},
       {"bytes_per_step",
        schema::integer(0,
                        largest_size * 1000,
                        "of one sequence; executed passes write files of so many and read them")},
       {"producers", schema::integer(1, 64, "threads that read, a chunk each; 1")},
       {"latency_us", schema::number("per chunk")},
       {"chunks_ahead", schema::integer(0, largest_size, "read ahead of training; 1")}},
      {},
      "how chunks come from storage");
}

Json models() {
  const Json launch{
      {"type", {"string", "object"}},
      {"description",
       "launch mode, as in a scenario, of steps without models, each batch at its own length: what "
       "break_even_runs is held against"}};
  return schema::object(
      {{"build_us", schema::number("to build one model")},
       {"cached",
        schema::integer(0,
                        4096,
                        "models kept at once, the one used longest ago goes; 0: one per bucket, "
                        "built at the start")},
       {"dynamic_launch", launch},
       {"bytes", schema::integer(0, largest_bytes, "of one stored model")},
       {"per_batch",
        schema::word(
            {"no", "serial", "overlapped"},
            "also work out models built for every batch, before its step or beside the last")}},
      {},
      "what unrolled models cost");
}

}  // namespace

std::string bucket_spec_schema() {
  std::vector<std::string> kinds = enum_names<Recompute>();
  kinds.emplace_back("auto");
  const Json batch{
      {"anyOf",
       Json::array({schema::integer(
                        1, largest_size, "sequences at once of the longest bucket, on each rank"),
                    schema::word({"auto"}, "the largest that fits")})}};
  const Json training = schema::object(
      {{"batch", batch},
       {"recompute",
        schema::word(kinds,
                     "as the workload's option; keep_backward if left out; auto: all but keep_all, "
                     "to be compared")},
       {"checkpoints", schema::integer(0, largest_size, "of optimal; 0: as many as sqrt")},
       {"truncate_steps",
        schema::integer(0,
                        largest_size,
                        "as the workload's option; its gradients are others than those of all "
                        "steps; 0: none")},
       {"ranks", schema::integer(1, max_ranks, "data parallel; 1 if left out")},
       {"sorting",
        schema::word(sorting_names(),
                     "of a chunk before it is cut into batches; by_length if left out")},
       {"batching",
        schema::word(enum_names<Batching>(),
                     "what batches of shorter buckets hold: as many rows, rows times steps, or as "
                     "much memory as `batch` rows of the longest; sequences if left out")},
       {"packing",
        schema::word(packing_names(),
                     "packed: several short sequences in a row, a step apart; none if left out")}},
      {"batch"},
      "one way to train");
  Json scenario{
      {"type", "object"},
      {"description", "a training step as in a spec of simulate; steps and batch are filled in"}};
  return schema::file(
             "SchedLab buckets",
             "buckets",
             schema::object(
                 {{"name", schema::text("title of pictures and report")},
                  {"description", schema::text("what is asked")},
                  {"lengths", schema::one_or_more(lengths())},
                  {"training", schema::one_or_more(training)},
                  {"rule",
                   schema::one_or_more(schema::word(enum_names<BoundaryRule>(),
                                                    "if left out all but other increasing_..."))},
                  {"buckets", schema::one_or_more(schema::integer(1, 4096, "number of buckets"))},
                  {"batch_multiple",
                   schema::integer(1, 4096, "the largest batch is a multiple of it; 1")},
                  {"scenario", scenario},
                  {"network", network()},
                  {"chunk_sequences",
                   schema::integer(0, max_sequences, "read and sorted together; 0: all")},
                  {"incomplete",
                   schema::word({"keep", "drop"}, "batches that a chunk does not fill; keep")},
                  {"seed", schema::integer(0, INT64_MAX, "of both shuffles; 1")},
                  {"reading", reading()},
                  {"models", models()}},
                 {"lengths", "training", "buckets", "scenario"},
                 "passes over sequences of different lengths"))
      .dump(2);
}

}  // namespace schedlab
