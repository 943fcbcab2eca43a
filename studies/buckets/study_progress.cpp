// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/study_progress.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/version.hpp"
#include "studies/spec/input_digest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// Of the step of a setup, which does not hang on the order of sequences.
std::string key_of(const TrainingSetup& setup, const std::string& launch) {
  return fmt::format("batch {}, {}, {} ranks{}{}",
                     setup.batch,
                     to_string(setup.recompute),
                     setup.ranks,
                     launch.empty() ? "" : ", launch ",
                     launch);
}

Json json_of(const EpochRun& run) {
  return Json{{"training_ps", run.training.count()},
              {"total_ps", run.total.count()},
              {"waiting_ps", run.waiting.count()},
              {"reading_ps", run.reading.count()},
              {"read_bytes", run.read.count()},
              {"tensors_peak_bytes", run.tensors_peak.count()},
              {"model_bytes", run.models.count()},
              {"first_error", run.first_error},
              {"last_error", run.last_error},
              {"finite", run.finite}};
}

EpochRun run_of(const Json& json) {
  return {.training = Duration{json.at("training_ps").get<std::int64_t>()},
          .total = Duration{json.at("total_ps").get<std::int64_t>()},
          .waiting = Duration{json.at("waiting_ps").get<std::int64_t>()},
          .reading = Duration{json.at("reading_ps").get<std::int64_t>()},
          .read = Bytes{json.at("read_bytes").get<std::int64_t>()},
          .tensors_peak = Bytes{json.at("tensors_peak_bytes").get<std::int64_t>()},
          .models = Bytes{json.at("model_bytes").get<std::int64_t>()},
          .first_error = json.at("first_error"),
          .last_error = json.at("last_error"),
          .finite = json.at("finite")};
}

}  // namespace

StudyProgress::StudyProgress(std::filesystem::path file,
                             const BucketSpec& spec,
                             std::string request)
    : file_(std::move(file)) {
  const Spec scenario =
      parse_spec(spec.scenario, fmt::format("{}: /scenario", spec.file), spec.folder);
  header_ = Json{{"schedlab", "bucket_progress"},
                 {"version", 1},
                 {"program", std::string{program_version()}},
                 {"spec", spec.text},
                 {"scenario", spec.scenario},
                 {"inputs", input_digest(scenario)},
                 {"request", std::move(request)}}
                .dump();
}

void StudyProgress::resume() {
  if (!std::filesystem::exists(file_)) return;
  const auto refuse = [&](const std::string& found, const char* hint) {
    throw InputError({.file = file_.string(),
                      .pointer = {},
                      .found = found,
                      .expected = "what this study has left",
                      .hint = hint});
  };
  const Json json = Json::parse(read_file(file_), nullptr, false);
  if (!json.is_object()) refuse("no JSON", "--overwrite starts again");
  const Json header = Json::parse(header_);
  for (const auto& [key, value] : header.items()) {
    if (!json.contains(key) || json.at(key) != value) {
      refuse(
          fmt::format("another {}", key),
          "--resume is for the same spec, options, machine files and version; --overwrite starts "
          "again");
    }
  }
  try {
    for (const Json& one : json.at("steps")) {
      steps_[{one.at("setup"), one.at("length")}] = {
          .step = Duration{one.at("step_ps").get<std::int64_t>()},
          .load = Duration{one.at("load_ps").get<std::int64_t>()}};
    }
    for (const Json& one : json.at("epochs")) {
      epochs_[{one.at("row"), one.at("repetition")}] = run_of(one.at("run"));
    }
  } catch (const Json::exception& error) {
    refuse(error.what(), "--overwrite starts again");
  }
}

std::optional<StepCost> StudyProgress::step(const TrainingSetup& setup,
                                            std::int64_t length,
                                            const std::string& launch) const {
  const auto found = steps_.find({key_of(setup, launch), length});
  if (found == steps_.end()) return std::nullopt;
  return found->second;
}

void StudyProgress::add_step(const TrainingSetup& setup,
                             std::int64_t length,
                             const StepCost& cost,
                             const std::string& launch) {
  steps_[{key_of(setup, launch), length}] = cost;
  if (Clock::now() - saved_ >= std::chrono::seconds{1}) save();
}

std::optional<EpochRun> StudyProgress::epoch(std::size_t row, std::uint32_t repetition) const {
  const auto found = epochs_.find({row, repetition});
  if (found == epochs_.end()) return std::nullopt;
  return found->second;
}

void StudyProgress::add_epoch(std::size_t row, std::uint32_t repetition, const EpochRun& run) {
  epochs_[{row, repetition}] = run;
  save();
}

void StudyProgress::save() {
  if (file_.empty()) return;
  Json json = Json::parse(header_);
  json["steps"] = Json::array();
  for (const auto& [key, cost] : steps_) {
    json["steps"].push_back({{"setup", key.first},
                             {"length", key.second},
                             {"step_ps", cost.step.count()},
                             {"load_ps", cost.load.count()}});
  }
  json["epochs"] = Json::array();
  for (const auto& [key, run] : epochs_) {
    json["epochs"].push_back(
        {{"row", key.first}, {"repetition", key.second}, {"run", json_of(run)}});
  }
  write_file_atomically(file_, json.dump(1) + "\n");
  saved_ = Clock::now();
}

}  // namespace schedlab
