// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/recording.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/json_document.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "studies/base/former_keys.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/version.hpp"
#include "studies/validation/validation_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int recording_version = 1;

std::string plan_name(std::uint64_t scenario, std::size_t index) {
  return fmt::format("plans/{}_{}.json.gz", scenario, index);
}
std::string trace_name(std::uint64_t scenario, std::size_t index) {
  return fmt::format("traces/{}_{}.json.gz", scenario, index);
}

/// The plan that a measured trace is of.
const Plan& plan_of(const MeasuredScenario& measured, const FullRun& run, std::size_t index) {
  return index < measured.plans.size() ? measured.plans[index] : run.plan;
}

Json scenario_json(const fs::path& folder,
                   const RecordingFacts& facts,
                   std::uint64_t scenario,
                   const MeasuredScenario& measured) {
  Json entry{{"scenario", scenario}, {"name", facts.grid.describe(scenario)}};
  const auto& run = facts.predicted[scenario].run;
  if (run == nullptr || measured.runs.empty()) {
    entry["note"] = measured.note.empty() ? std::string{"not measured"} : measured.note;
    return entry;
  }
  const Problem problem = run->scenario.problem->problem();
  entry["tasks"] = problem.graph.task_count();
  entry["online"] = !measured.plans.empty();
  if (measured.tensors_peak) entry["measured_memory_bytes"] = measured.tensors_peak->count();
  const Fields<RunRecord> run_record = run_fields();
  for (const RunRecord& record : measured.runs) entry["runs"].push_back(run_record.json(record));
  for (std::size_t i = 0; i < measured.traces.size(); ++i) {
    const Plan& plan = plan_of(measured, *run, i);
    if (i == 0 || !measured.plans.empty()) {
      entry["plans"].push_back(plan_name(scenario, i));
      write_file_atomically(folder / plan_name(scenario, i),
                            gzip(plan_to_json(plan, problem.graph)));
    }
    entry["traces"].push_back(trace_name(scenario, i));
    write_file_atomically(
        folder / trace_name(scenario, i),
        gzip(chrome_json(make_document(
            problem, plan, measured.traces[i], facts.grid.describe(scenario), "measured"))));
  }
  return entry;
}

Json speed_check_json(const SpeedCheck& check) {
  Json kinds = Json::object();
  for (const DriftReading::Factors& factors : check.reading.kinds) {
    kinds[std::string{to_string(factors.kind)}] = {{"one_unit", factors.one_unit},
                                                   {"all_units", factors.all_units}};
  }
  return {{"group", check.group},
          {"round", check.round},
          {"at_s", check.at_s},
          {"kinds", std::move(kinds)}};
}

/// With `path`, wherever it is named, as the copy beside the spec: a recording is read on other
/// computers.
void name_recorded_machine(const std::string& path, Json& value) {
  if (value.is_string() && value.get<std::string>() == path) {
    value = fmt::format("./{}", recorded_machine);
  } else if (value.is_structured()) {
    for (Json& part : value) name_recorded_machine(path, part);
  }
}

std::string recorded_spec(const RecordingFacts& facts) {
  if (facts.machine_file.empty()) return facts.spec.text;
  Json json = Json::parse(facts.spec.text);
  if (json.contains("machine")) {
    name_recorded_machine(fs::absolute(facts.machine_file).string(), json["machine"]);
  }
  return json.dump(2) + "\n";
}

/// Every mistake in recording.json is an InputError with its pointer.
class RecordingFile : public JsonDocument {
 public:
  /// `notes`, if any, gets a line for each key that has a new name.
  explicit RecordingFile(fs::path folder, std::ostream* notes = nullptr)
      : JsonDocument((folder / recording_file).string()), folder_(std::move(folder)) {
    const std::string file = (folder_ / recording_file).string();
    const std::string text = with_new_keys(read_file(file), "recording", file, notes);
    try {
      root_ = Json::parse(text);  // keys in the order of the file
    } catch (const Json::parse_error& error) {
      fail(json_text_place(text, error.byte == 0 ? 0 : error.byte - 1),
           "a syntax error",
           "a recording of schedlab validate");
    }
    if (!root_.is_object() || root_.value("schedlab", "") != "recording") {
      fail("/schedlab", "no recording", "\"recording\"");
    }
    if (root_.value("version", 0) != recording_version) {
      fail("/version",
           fmt::format("{}", root_.value("version", 0)),
           fmt::format("{}", recording_version),
           "record again with this version");
    }
  }

  /// Turns what `read` finds missing or of another type into an InputError.
  template <class Read>
  void guarded(const Read& read) const {
    try {
      read();
    } catch (const Json::exception& error) {
      fail("",
           fmt::format("a value that does not fit ({})", error.what()),
           "a recording of schedlab validate");
    }
  }

  [[nodiscard]] const fs::path& folder() const { return folder_; }
  [[nodiscard]] const Json& root() const { return root_; }

 private:
  fs::path folder_;
  Json root_;
};

/// The measurements in it, for the scenarios of a grid.
class RecordingReader {
 public:
  RecordingReader(const fs::path& folder,
                  const Grid& grid,
                  const std::vector<PredictedScenario>& predicted,
                  std::vector<std::string>& notices)
      : file_(folder, &notes_), grid_(grid), predicted_(predicted), notices_(notices) {
    constexpr std::string_view prefix = "note: ";
    for (std::string line; std::getline(notes_, line);) {
      notices_.push_back(line.substr(prefix.size()));
    }
  }

  [[nodiscard]] Measurements read() {
    file_.guarded([this] {
      read_facts();
      read_speed_checks();
      const Json& scenarios = file_.root().at("scenarios");
      for (std::size_t i = 0; i < scenarios.size(); ++i) {
        read_scenario(scenarios[i], fmt::format("/scenarios/{}", i));
      }
    });
    for (MeasuredScenario& measured : result_.scenarios) {
      if (measured.runs.empty() && measured.note.empty()) measured.note = "not recorded";
    }
    return std::move(result_);
  }

 private:
  void read_facts() {
    const Json& root = file_.root();
    result_.device = root.at("device").get<std::string>();
    result_.date = root.at("date").get<std::string>();
    result_.repetitions = root.at("repetitions").get<std::uint32_t>();
    result_.warm_up = root.at("warm_up").get<std::uint32_t>();
    result_.seed = root.at("seed").get<std::uint64_t>();
    result_.workers = root.at("workers").get<std::uint32_t>();
    result_.host = root.at("host").get<std::string>();
    result_.complete = root.at("complete").get<bool>();
    if (!root.at("other_load").is_null()) result_.other_load = root.at("other_load").get<double>();
    result_.scenarios.resize(grid_.size());
  }

  /// A recording of a machine that had no speed checks has none.
  void read_speed_checks() {
    if (!file_.root().contains("speed_checks")) return;
    const Json& checks = file_.root().at("speed_checks");
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Json& entry = checks[i];
      SpeedCheck check{.group = entry.at("group").get<std::size_t>(),
                       .round = entry.at("round").get<std::uint32_t>(),
                       .at_s = entry.at("at_s").get<double>(),
                       .reading = {}};
      for (const auto& [kind, factors] : entry.at("kinds").items()) {
        const auto& kinds = enum_names<TaskKind>();
        const std::string pointer = fmt::format("/speed_checks/{}/kinds/{}", i, kind);
        if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
          file_.fail(pointer, "an unknown kind", fmt::format("one of {}", fmt::join(kinds, ", ")));
        }
        const auto one = factors.at("one_unit").get<double>();
        const auto all = factors.at("all_units").get<double>();
        if (!(one > 0) || !(all > 0)) file_.fail(pointer, "a factor of 0 or less", "above 0");
        check.reading.kinds.push_back(
            {.kind = enum_value<TaskKind>(kind), .one_unit = one, .all_units = all});
      }
      result_.speed_checks.push_back(std::move(check));
    }
  }

  void read_scenario(const Json& entry, const std::string& pointer) {
    const auto scenario = entry.at("scenario").get<std::uint64_t>();
    if (scenario >= grid_.size()) {
      file_.fail(
          pointer + "/scenario",
          fmt::format("scenario {}", scenario),
          fmt::format("one of the {} of this spec", grid_.size()),
          fmt::format("the spec of the recording is {}", (file_.folder() / "spec.json").string()));
    }
    const auto name = entry.at("name").get<std::string>();
    if (name != grid_.describe(scenario)) {
      file_.fail(
          pointer + "/name",
          fmt::format("\"{}\"", name),
          fmt::format("\"{}\", as in this spec", grid_.describe(scenario)),
          fmt::format("the spec of the recording is {}", (file_.folder() / "spec.json").string()));
    }
    MeasuredScenario& measured = result_.scenarios[scenario];
    if (entry.contains("note")) measured.note = entry.at("note").get<std::string>();
    const auto& run = predicted_[scenario].run;
    if (!entry.contains("runs") || run == nullptr) return;
    const TaskGraph& graph = *run->scenario.problem->graph;
    if (entry.at("tasks").get<std::size_t>() != graph.task_count()) {
      file_.fail(pointer + "/tasks",
                 fmt::format("{} tasks", entry.at("tasks").get<std::size_t>()),
                 fmt::format("{}, as the graph has now", graph.task_count()),
                 "the workload has changed since; record again");
    }
    if (entry.contains("measured_memory_bytes")) {
      measured.tensors_peak = Bytes{entry.at("measured_memory_bytes").get<std::int64_t>()};
    }
    for (const Json& record : entry.at("runs")) {
      measured.runs.push_back({.round = record.at("round").get<std::uint32_t>(),
                               .position = record.at("position").get<std::uint32_t>(),
                               .makespan = Duration{record.at("makespan_ps").get<std::int64_t>()}});
    }
    read_plans(entry, *run, scenario, measured);
    for (const Json& trace : entry.at("traces")) {
      const fs::path path = file_.folder() / trace.get<std::string>();
      TraceDocument document = read_chrome_json(read_file_or_gzip(path), path.string());
      if (document.tasks.size() != graph.task_count()) {
        file_.fail(pointer + "/traces", "a trace of another graph", "one of this scenario");
      }
      const Plan& plan = plan_of(measured, *run, measured.traces.size());
      if (document.streams.size() > plan.streams.size() ||
          document.devices.size() > run->scenario.problem->machine->platform.device_count() ||
          document.hosts.size() > plan.hosts.size()) {
        file_.fail(pointer + "/traces", "a trace of another plan", "one of the plan beside it");
      }
      measured.traces.push_back(std::move(document.trace));
    }
  }

  void read_plans(const Json& entry,
                  const FullRun& run,
                  std::uint64_t scenario,
                  MeasuredScenario& measured) {
    const bool online = entry.at("online").get<bool>();
    for (const Json& name : entry.at("plans")) {
      const fs::path path = file_.folder() / name.get<std::string>();
      Plan plan =
          plan_from_json(read_file_or_gzip(path), *run.scenario.problem->graph, path.string());
      if (online) {
        measured.plans.push_back(std::move(plan));
      } else if (!(plan == run.plan)) {
        notices_.push_back(
            fmt::format("scenario {} ({}): the recorded run was of another plan than the one "
                        "simulated now",
                        scenario,
                        grid_.describe(scenario)));
        measured.plans.assign(entry.at("traces").size(), plan);
      }
    }
  }

  std::stringstream notes_;
  RecordingFile file_;
  const Grid& grid_;
  const std::vector<PredictedScenario>& predicted_;
  std::vector<std::string>& notices_;
  Measurements result_;
};

}  // namespace

std::vector<std::string> write_recording(const fs::path& folder,
                                         const RecordingFacts& facts,
                                         const Measurements& measured) {
  make_folder(folder / "plans");
  make_folder(folder / "traces");
  std::vector<std::string> files{"spec.json"};
  write_file_atomically(folder / "spec.json", recorded_spec(facts));
  if (!facts.machine_file.empty()) {
    write_file_atomically(folder / recorded_machine, read_file(facts.machine_file));
    files.emplace_back(recorded_machine);
  }
  Json root{{"schedlab", "recording"},
            {"version", recording_version},
            {"program", fmt::format("schedlab {}", program_version())},
            {"date", measured.date},
            {"device", measured.device},
            {"repetitions", measured.repetitions},
            {"warm_up", measured.warm_up},
            {"seed", measured.seed},
            {"workers", measured.workers},
            {"host", measured.host},
            {"other_load", measured.other_load ? Json(*measured.other_load) : Json(nullptr)},
            {"complete", measured.complete}};
  if (facts.ends_synchronized) root["ends_synchronized"] = true;
  for (const SpeedCheck& check : measured.speed_checks) {
    root["speed_checks"].push_back(speed_check_json(check));
  }
  root["scenarios"] = Json::array();
  for (std::uint64_t scenario = 0; scenario < measured.scenarios.size(); ++scenario) {
    root["scenarios"].push_back(
        scenario_json(folder, facts, scenario, measured.scenarios[scenario]));
  }
  // Last: a folder without it is no recording.
  write_file_atomically(folder / recording_file, root.dump(1) + "\n");
  files.insert(files.end(), {"plans/", "traces/", recording_file});
  return files;
}

RecordedHost read_recorded_host(const fs::path& folder) {
  const RecordingFile file(folder);
  RecordedHost recorded;
  file.guarded([&] {
    recorded.workers = file.root().at("workers").get<std::uint32_t>();
    recorded.ends_synchronized = file.root().value("ends_synchronized", false);
    const auto word = file.root().at("host").get<std::string>();
    if (recorded.workers == 0) return;
    const auto host = enum_from<HostPlacement>(word);
    if (!host) {
      file.fail("/host",
                fmt::format("\"{}\"", word),
                fmt::format("one of {}", fmt::join(enum_names<HostPlacement>(), ", ")));
    }
    recorded.host = *host;
  });
  return recorded;
}

Measurements read_recording(const fs::path& folder,
                            const Grid& grid,
                            const std::vector<PredictedScenario>& predicted,
                            std::vector<std::string>& notices) {
  return RecordingReader{folder, grid, predicted, notices}.read();
}

}  // namespace schedlab
