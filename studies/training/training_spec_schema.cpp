// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/training/training_spec.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

constexpr std::int64_t largest_size = 1'000'000;  // assumed: of units, samples, iterations

/// A layer of one kind: what belongs to it, and what all have.
Json layer(const char* kind,
           const Json& properties,
           std::vector<std::string> required,
           const char* doc) {
  Json all{{"kind", {{"const", kind}}},
           {"name", schema::text("for shares, reads and adds, and in messages")},
           {"reads", schema::text("an earlier layer whose output this one reads; the one before")}};
  all.update(properties);
  required.insert(required.begin(), "kind");
  return schema::object(all, required, doc);
}

Json layers() {
  const Json units =
      schema::integer(1, largest_size, "values that come out; filters; width of the state");
  const Json relu = schema::flag("negative values become 0; false if left out");
  const Json shares = schema::text("an earlier layer whose parameters this one uses too");
  const Json kinds = Json::array(
      {layer("dense",
             {{"units", units},
              {"relu", relu},
              {"per_row", schema::flag("every row by itself; false if left out")},
              {"shares", shares}},
             {"units"},
             "every value from all that come in"),
       layer("conv2d",
             {{"units", units},
              {"kernel", schema::integer(1, 4096, "height and width; 3 if left out")},
              {"relu", relu},
              {"shares", shares}},
             {"units"},
             "stride 1, no padding"),
       layer("max_pool",
             {{"window", schema::integer(1, 4096, "height, width and stride; 2 if left out")}},
             {},
             "the largest value of each window"),
       layer("dropout",
             {{"rate",
               {{"type", "number"},
                {"minimum", 0},
                {"exclusiveMaximum", 1},
                {"description", "share that is dropped; 0.5 if left out"}}}},
             {},
             "masks depend on seed, layer and sample"),
       layer("lstm",
             {{"units", units},
              {"sequences", schema::flag("all states, not only the last; false if left out")},
              {"shares", shares}},
             {"units"},
             "one step per row"),
       layer("embedding",
             {{"units", units},
              {"vocabulary", schema::integer(1, largest_size, "words")},
              {"shares", shares}},
             {"units", "vocabulary"},
             "vectors of the words and of their positions"),
       layer("layer_norm", {{"shares", shares}}, {}, "of each row; with gain and bias"),
       layer("attention",
             {{"heads", schema::integer(1, 4096, "1 if left out")}},
             {},
             "rows are queries, keys and values, side by side; each row sees those before it"),
       layer("gelu", Json::object(), {}, "x Phi(x), by tanh"),
       layer("add",
             {{"adds", schema::text("an earlier layer whose output is added")}},
             {"adds"},
             "the end of a branch")});
  return Json{{"type", "array"},
              {"items", {{"anyOf", kinds}}},
              {"minItems", 1},
              {"description", "of the net, first to last; the last gives one value per class"}};
}

Json data() {
  const Json shape{{"type", "array"},
                   {"items", schema::integer(1, largest_size, "values")},
                   {"minItems", 3},
                   {"maxItems", 3},
                   {"description", "height, width, channels of a sample"}};
  return Json{
      {"anyOf",
       Json::array(
           {schema::object(
                {{"kind", {{"const", "file"}}},
                 {"path",
                  schema::text("CSV file, relative to this one: a heading, then label and values")},
                 {"shape", shape}},
                {"kind", "path", "shape"},
                "labelled samples from a file; scripts/export_digits.py writes one"),
            schema::object(
                {{"kind", {{"const", "idx"}}},
                 {"path",
                  schema::text("folder of MNIST's four IDX files, plain or .gz, relative to this "
                               "file; its t10k files are for testing")},
                 {"shape", shape}},
                {"kind", "path", "shape"},
                "pictures in MNIST's format; scripts/export_digits.py --idx writes some"),
            schema::object({{"kind", {{"const", "text"}}},
                            {"path", schema::text("of the text, relative to this file")},
                            {"length", schema::integer(1, 1'000'000, "characters of a sample")}},
                           {"kind", "path", "length"},
                           "a sample's labels are the characters that follow"),
            schema::object(
                {{"kind", {{"const", "synthetic"}}},
                 {"shape", shape},
                 {"classes", schema::integer(2, largest_size, "a pattern each")},
                 {"samples", schema::integer(5, largest_size, "a fifth of them for testing")},
                 {"noise",
                  {{"type", "number"},
                   {"minimum", 0},
                   {"maximum", 1000},
                   {"description", "standard deviation, patterns being from 0 to 1; 0.3"}}},
                 {"seed", schema::integer(0, INT64_MAX, "1 if left out")}},
                {"kind", "shape", "classes", "samples"},
                "noisy patterns")})}};
}

Json policy() {
  return Json{
      {"anyOf",
       Json::array({schema::text("its name"),
                    Json{{"type", "object"},
                         {"properties", {{"name", schema::text("its name")}}},
                         {"required", {"name"}},
                         {"description", "name and options, as schedlab list shows them"}}})}};
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): one document
std::string training_spec_schema() {
  const Json optimizer = schema::object(
      {{"kind", {{"enum", {"sgd", "adam"}}}},
       {"learning_rate", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1000}}}},
      {"kind", "learning_rate"},
      "sgd with a rate of 0.1 if left out");
  const Json stages{
      {"anyOf",
       Json::array(
           {schema::integer(1, largest_size, "so many, cut where their measured times balance"),
            Json{{"type", "array"},
                 {"items", schema::integer(1, largest_size, "layers")},
                 {"minItems", 1},
                 {"description", "layers of each stage"}}})}};
  return schema::file(
             "SchedLab training",
             "training",
             schema::object(
                 {{"name", schema::text("title of pictures")},
                  {"description", schema::text("what is asked")},
                  {"data", data()},
                  {"layers", layers()},
                  {"optimizer", optimizer},
                  {"batch",
                   schema::integer(
                       1, largest_size, "samples of an iteration, of all replicas together")},
                  {"microbatches",
                   schema::integer(1, largest_size, "of each replica, as equal as possible; 1")},
                  {"replicas",
                   schema::integer(1, 100'000, "data parallel, each a pipeline of its own; 1")},
                  {"stages", stages},
                  {"virtual_stages", schema::integer(1, 4096, "stages on each rank; 1")},
                  {"balance",
                   {{"enum", {"time", "memory"}},
                    {"description",
                     "of stages where their layers are open; memory lets the slowest stage be "
                     "10 % slower than could be; time if left out"}}},
                  {"memory_limit_mib",
                   {{"type", "number"},
                    {"exclusiveMinimum", 0},
                    {"maximum", largest_size},
                    {"description",
                     "of one stage: parameters, gradients, optimizer state and what "
                     "micro-batches under way keep; no limit if left out"}}},
                  {"compression",
                   {{"enum", enum_names<Compression>()},
                    {"description",
                     "of activations and gradients between ranks, with a loss: half or about a "
                     "quarter of the bytes; none if left out"}}},
                  {"passes",
                   {{"enum", {"whole", "layers"}},
                    {"description",
                     "a task for each pass of a stage, or for each layer of it (micro-batches "
                     "must be equal then); whole if left out"}}},
                  {"recompute",
                   schema::flag(
                       "keep only what goes into a stage, and make the rest again; false")},
                  {"iterations", schema::integer(1, largest_size, "updates of the parameters; 20")},
                  {"verified_iterations",
                   schema::integer(
                       0, largest_size, "trained as a whole net too, by rank 0, and compared; 1")},
                  {"seed",
                   schema::integer(0, INT64_MAX, "of weights, dropout, order and test samples; 1")},
                  {"parameters",
                   schema::text("parameters.npz of a training of such a net, relative to this "
                                "file, to begin with; weights by the seed if left out")},
                  {"policy", policy()}},
                 {"data", "layers", "batch", "policy"},
                 "a net that is trained by a pipeline of ranks"))
      .dump(2);
}

}  // namespace schedlab
