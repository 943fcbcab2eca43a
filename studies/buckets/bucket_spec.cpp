// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/bucket_spec.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "studies/base/schema_check.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// The value itself, or its elements if it is a list, each with its pointer.
std::vector<std::pair<Json, std::string>> one_or_more(const Json& value,
                                                      const std::string& pointer) {
  std::vector<std::pair<Json, std::string>> all;
  if (!value.is_array()) return {{value, pointer}};
  for (std::size_t i = 0; i < value.size(); ++i) {
    all.emplace_back(value[i], fmt::format("{}/{}", pointer, i));
  }
  return all;
}

/// The word's place among `words`, which the schema has checked.
template <class Enum>
Enum from_word(const std::vector<std::string>& words, const std::string& word) {
  return static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
}

LengthDistribution distribution_of(const Json& json, const std::string& kind) {
  if (kind == "uniform") {
    return LengthDistribution::uniform(json.value("shortest", std::int64_t{1}), json.at("longest"));
  }
  if (kind == "power_law") {
    return LengthDistribution::power_law(json.at("longest"), json.at("exponent"));
  }
  if (kind == "log_normal") {
    return LengthDistribution::log_normal(json.at("longest"), json.at("median"), json.at("sigma"));
  }
  std::vector<std::pair<std::int64_t, double>> weights;
  for (const Json& pair : json.at("weights")) weights.emplace_back(pair.at(0), pair.at(1));
  return LengthDistribution::histogram(weights);
}

std::string label_of(const Json& json, const std::string& kind) {
  if (json.contains("label")) return json.at("label");
  if (kind == "power_law") return fmt::format("{} {}", kind, json.at("exponent").dump());
  if (kind == "file") return fmt::format("{} {}", kind, json.at("path").get<std::string>());
  return kind;
}

SequenceData data_of(const Json& json, const std::filesystem::path& folder) {
  const std::string kind = json.at("kind");
  if (kind == "file") {
    const std::filesystem::path path = folder / json.at("path").get<std::string>();
    std::vector<std::int64_t> lengths = read_lengths(read_file(path), path.string());
    LengthDistribution distribution = LengthDistribution::of(lengths);
    return {label_of(json, kind), std::move(distribution), std::move(lengths)};
  }
  LengthDistribution distribution = distribution_of(json, kind);
  auto lengths = distribution.draw(json.at("sequences"), json.value("seed", std::uint64_t{1}));
  return {label_of(json, kind), std::move(distribution), std::move(lengths)};
}

void read_data(const Json& root, BucketSpec& spec) {
  for (const auto& [json, pointer] : one_or_more(root.at("lengths"), "/lengths")) {
    try {
      spec.data.push_back(data_of(json, spec.folder));
    } catch (const InputError& error) {
      if (!error.problem().file.empty()) throw;
      InputProblem problem = error.problem();
      problem.file = spec.file;
      problem.pointer = pointer + problem.pointer;
      throw InputError(problem);
    }
  }
}

/// One, or of "auto" all that are worth a comparison.
std::vector<Recompute> recompute_kinds(const std::string& word, bool truncated) {
  if (word != "auto") return {enum_value<Recompute>(word)};
  if (truncated) return {Recompute::keep_backward, Recompute::data_drop};
  return {Recompute::keep_backward, Recompute::data_drop, Recompute::sqrt, Recompute::optimal};
}

void read_passes(const Json& root, BucketSpec& spec) {
  spec.chunk_sequences = root.value("chunk_sequences", spec.chunk_sequences);
  spec.seed = root.value("seed", spec.seed);
  spec.drop_incomplete = root.value("incomplete", "keep") == "drop";
  if (root.contains("reading")) {
    const Json& reading = root.at("reading");
    spec.reading.bandwidth = Bandwidth{1e9 * reading.value("bandwidth_gb_per_s", 0.0)};
    spec.reading.bytes_per_step = reading.value("bytes_per_step", std::int64_t{0});
    spec.reading.latency = from_us(reading.value("latency_us", 0.0));
    spec.reading.producers = reading.value("producers", std::int64_t{1});
    spec.reading.chunks_ahead = reading.value("chunks_ahead", std::int64_t{1});
  }
  if (root.contains("models")) {
    const Json& models = root.at("models");
    spec.models.build = from_us(models.value("build_us", 0.0));
    spec.models.cached = models.value("cached", std::size_t{0});
    if (models.contains("dynamic_launch")) {
      spec.dynamic_launch = models.at("dynamic_launch").dump();
    }
    spec.model_bytes = models.value("bytes", std::int64_t{0});
    spec.per_batch = models.value("per_batch", "no") != "no";
    spec.overlapped = models.value("per_batch", "no") == "overlapped";
  }
}

/// Batches by bucket and packed rows need sequences in order, and buckets.
void expect_cut_by_bucket(const Json& root, const BucketSpec& spec, const std::string& pointer) {
  const TrainingSetup& setup = spec.training.back();
  if (setup.plain() == setup) return;
  const auto refuse = [&](const char* found, const char* expected) {
    throw InputError(
        {.file = spec.file, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
  };
  if (!setup.sorted)
    refuse("batching or packing of unsorted sequences", "\"sorting\": \"by_length\"");
  const Json models = root.value("models", Json::object());
  if (models.value("per_batch", "no") != "no" || models.contains("dynamic_launch")) {
    refuse("batching or packing beside steps without buckets",
           "no per_batch and no dynamic_launch in /models");
  }
}

}  // namespace

std::vector<std::string> sorting_names() {
  return {"by_length", "none"};
}

std::string sorting_name(bool sorted) {
  return sorting_names()[sorted ? 0 : 1];
}

std::vector<std::string> packing_names() {
  return {"none", "packed"};
}

std::string packing_name(bool packed) {
  return packing_names()[packed ? 1 : 0];
}

BucketSpec parse_bucket_spec(const std::string& text,
                             const std::string& file,
                             const std::filesystem::path& folder) {
  read_checked_json(text, bucket_spec_schema(), file);
  const Json root = Json::parse(text);
  BucketSpec spec;
  spec.file = file;
  spec.text = text;
  spec.folder = folder;
  spec.name = root.value("name", std::filesystem::path{file}.stem().string());
  spec.description = root.value("description", "");
  read_data(root, spec);
  for (const auto& [json, pointer] : one_or_more(root.at("training"), "/training")) {
    const std::int64_t segment = json.value("truncate_steps", std::int64_t{0});
    for (const Recompute kind :
         recompute_kinds(json.value("recompute", "keep_backward"), segment > 0)) {
      const bool counted = kind == Recompute::optimal;
      if (segment > 0 && (counted || kind == Recompute::sqrt)) {
        throw InputError({.file = spec.file,
                          .pointer = pointer + "/recompute",
                          .found = fmt::format("{} with truncate_steps", to_string(kind)),
                          .expected = "keep_backward, data_drop or keep_all",
                          .hint = {}});
      }
      spec.training.push_back(
          {.batch = json.at("batch").is_string() ? 0 : json.at("batch").get<std::int64_t>(),
           .recompute = {.kind = kind,
                         .checkpoints = counted ? json.value("checkpoints", std::int64_t{0}) : 0,
                         .truncate_steps = segment},
           .ranks = json.value("ranks", std::int64_t{1}),
           .sorted = json.value("sorting", sorting_name(true)) == sorting_name(true),
           .batching =
               enum_value<Batching>(json.value("batching", std::string{to_string(Batching{})})),
           .packed = json.value("packing", packing_name(false)) == packing_name(true)});
      expect_cut_by_bucket(root, spec, pointer);
    }
  }
  Json rules{"fixed_step", "by_distribution", "increasing_step", "optimal"};
  if (root.contains("rule")) rules = root.at("rule");
  for (const auto& [json, pointer] : one_or_more(rules, "/rule")) {
    spec.rules.push_back(from_word<BoundaryRule>(enum_names<BoundaryRule>(), json));
  }
  for (const auto& [json, pointer] : one_or_more(root.at("buckets"), "/buckets")) {
    spec.counts.push_back(json);
  }
  spec.batch_multiple = root.value("batch_multiple", spec.batch_multiple);
  spec.scenario = root.at("scenario").dump();
  if (root.contains("network")) {
    for (const auto& [key, value] : root.at("network").items()) spec.network[key] = value;
  }
  read_passes(root, spec);
  return spec;
}

BucketSpec load_bucket_spec(const std::string& path) {
  return parse_bucket_spec(read_file(path), path, std::filesystem::path{path}.parent_path());
}

}  // namespace schedlab
