// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validate_run.hpp"

#include "notebooks_export/csv.hpp"
#include "notebooks_export/overlay.hpp"
#include "notebooks_export/timeline_viewer.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/vendor/onednn_lstm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/merged_chrome_json.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/execution/scenario_executor.hpp"
#include "studies/scenario/required_evidence.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/sweep/trace_input.hpp"
#include "studies/validation/library_turns.hpp"
#include "studies/validation/profile_calibration.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/spec_to_validate.hpp"
#include "studies/validation/speed_of_machine.hpp"
#include "studies/validation/synchronized_end.hpp"
#include "studies/validation/validation.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_scenarios = 2000;
constexpr const char* default_baseline = "single_stream";

ValidationBounds bounds_of(const ValidateOptions& options) {
  const auto share = [](const std::string& text, const char* flag) {
    return text.empty() ? std::nullopt : std::optional{share_option(text, flag)};
  };
  return {.median_error = share(options.max_median_error, "--max-median-error"),
          .p90_error = share(options.max_p90_error, "--max-p90-error"),
          .order = share(options.min_order, "--min-order"),
          .coverage = share(options.min_coverage, "--min-coverage")};
}

/// One validation from spec to folder.
class ValidateRun {
 public:
  ValidateRun(const ValidateOptions& options,
              const Terminal& terminal,
              const ValidateParts& parts,
              const Spec& spec)
      : options_(options),
        terminal_(terminal),
        parts_(parts),
        spec_(spec),
        grid_(spec),
        space_(spec, grid_) {}
  ValidateRun(const ValidateRun&) = delete;
  ValidateRun& operator=(const ValidateRun&) = delete;
  ~ValidateRun() = default;

  [[nodiscard]] int run() {
    expect_size();
    space_.components().check_all();
    const ValidationBounds bounds = bounds_of(options_);
    expect_turns();
    if (!options_.baseline.empty()) library_ = read_baselines(options_.baseline, &terminal_.err);
    OutputFolder folder(whole_folder(options_.out, "validate", options_.overwrite),
                        terminal_.leftovers);
    std::optional<OutputFolder> recording;
    if (!options_.record.empty()) {
      recording.emplace(whole_folder(options_.record, "validate --record", options_.overwrite),
                        terminal_.leftovers);
    }

    prepare();
    predict();
    if (options_.predict_only) return publish_predictions(folder);
    measure();
    if (recording) {
      write_recording(recording->path(),
                      {spec_, grid_, predicted_, machine_file(options_), ends_synchronized_},
                      measured_);
      recording->publish();
    }
    const std::string baseline = spec_.baseline.empty() ? default_baseline : spec_.baseline;
    predict_drifted();
    const Validation validation =
        validate(space_, predicted_, measured_, baseline, options_.seed, at_speed_);
    ValidationReport report{
        spec_, grid_, predicted_, measured_, validation, {}, {}, {}, {}, {}, warnings_, 0};
    report.launch = launch_gains(space_, predicted_, validation);
    report.dispatch = dispatch_gains(space_.grid(), predicted_, validation);
    if (library_) {
      report.library_name = library_->description;
      report.library = compare_with_library(space_, validation, *library_);
      try {
        if (options_.turns > 0) take_turns(validation, report.library);
      } catch (const Interrupted&) {
        measured_.complete = false;  // what was compared before is written
      }
    }
    report.broken = broken_bounds(validation, bounds);
    add_lacking_evidence(report.broken);
    report.shown = shown_outcome(validation);
    report.sensitivity = sensitivity_of_closest(validation);
    for (std::string& warning : validation_warnings(report)) {
      report.warnings.push_back(std::move(warning));
    }
    const RunFiles files = write_files(folder.path(), report);
    folder.publish();
    print(report, files);
    const bool good = measured_.complete && validation.all.count > 0 && report.broken.empty();
    return good ? exit_done : exit_failed;
  }

 private:
  /// The first prediction that has less evidence than is required.
  void add_lacking_evidence(std::vector<std::string>& broken) const {
    for (const PredictedScenario& one : predicted_) {
      if (one.run == nullptr) continue;
      const std::string lacking = lacking_evidence(options_.require, one.run->problem());
      if (lacking.empty()) continue;
      broken.push_back(
          fmt::format("--require {}: scenario {}: {}", options_.require, one.scenario, lacking));
      return;
    }
  }

  void expect_size() const {
    if (grid_.size() <= max_scenarios) return;
    throw InputError({.file = spec_.file,
                      .pointer = {},
                      .found = fmt::format("{} scenarios", grid_.size()),
                      .expected = fmt::format("at most {} to be measured", max_scenarios),
                      .hint = "give some axes fewer values"});
  }

  void expect_turns() const {
    if (options_.turns == 0) return;
    if (!options_.baseline.empty() && options_.recording.empty() && !options_.predict_only) return;
    throw InputError({.file = "--turns",
                      .pointer = {},
                      .found = options_.baseline.empty() ? "no --baseline" : "nothing is measured",
                      .expected = "a device, and a library to take turns with",
                      .hint = "give --device and --baseline, or leave out --turns"});
  }

  /// The fastest plan of each network and the library, on the device as it is now.
  void take_turns(const Validation& validation, std::vector<LibraryRow>& rows) {
    if (library_->library == RnnLibrary::onednn) {
      OnednnLstm::set_threads(static_cast<int>(available_cores()));
    }
    for (LibraryRow& row : rows) {
      if (!row.policy.empty()) continue;
      const auto& all = library_->workloads;
      const auto network = std::find_if(
          all.begin(), all.end(), [&](const auto& one) { return one.label == row.network; });
      const std::uint64_t scenario = validation.scenarios[row.fastest].scenario;
      const FullRun& predicted = *predicted_[scenario].run;
      const auto online = online_policy(predicted);
      const auto library = make_library_rnn(library_->library,
                                            network->spec,
                                            draw_recurrent_inputs(network->spec, library_->seed),
                                            row.variant);
      row.turns =
          measure_in_turns(*measurer_,
                           {.scenario = scenario, .predicted = predicted, .online = online.get()},
                           *library,
                           network->spec.pass,
                           {.turns = options_.turns,
                            .seed = options_.seed,
                            .library_us = row.library_us,
                            .stop = terminal_.stop});
    }
  }

  /// Plans must be made for the workers that run them.
  void prepare() {
    if (!options_.recording.empty()) {
      const RecordedHost recorded = read_recorded_host(options_.recording);
      if (recorded.workers > 0) space_.prepare_for_execution(recorded.workers, recorded.host);
      ends_synchronized_ = recorded.ends_synchronized;
    } else if (parts_.measurer != nullptr) {
      measurer_ = parts_.measurer;
      ends_synchronized_ = parts_.ends_synchronized;
    } else if (const auto device = device_from(options_.device)) {
      // The precision and the connections that were asked for are in the spec.
      const DeviceRequest request =
          device->kind->prepare({.workers = options_.workers,
                                 .host = enum_from<HostPlacement>(options_.host),
                                 .pin = options_.pin,
                                 .proxy = proxy_from(options_.proxy),
                                 .allocation = enum_value<TensorAllocation>(options_.allocate),
                                 .products = cuda_products_of(options_.products)},
                                space_);
      ends_synchronized_ = device->kind->ends_synchronized;
      if (!options_.predict_only) {
        own_measurer_ = std::make_unique<DeviceMeasurer>(
            space_, device->kind->open(*device, request, space_, terminal_.stop), terminal_.stop);
        measurer_ = own_measurer_.get();
      }
    }
    if (parts_.calibration) {
      calibration_ = parts_.calibration;
    } else {
      calibration_ = [this](std::uint64_t, const PreparedProblem& problem) {
        return profile_.of(problem);
      };
    }
  }

  /// Before anything is measured, so that no prediction can know its answer.
  void predict() {
    ScenarioRunner runner(space_, terminal_.stop);
    Progress progress(terminal_, grid_.size(), 0);
    const DrawRequest request{.draws = options_.draws, .seed = options_.seed};
    for (std::uint64_t scenario = 0; scenario < grid_.size(); ++scenario) {
      predicted_.push_back(
          predict_scenario(runner, scenario, calibration_, request, terminal_.stop));
      if (ends_synchronized_) end_with_synchronization(predicted_.back(), terminal_.stop);
      progress.update(scenario + 1);
    }
    progress.finish();
  }

  /// At the speed that the speed checks say the machine had: beside the predictions, never in their
  /// place.
  void predict_drifted() {
    const SpeedOfMachine machine{measured_};
    if (!machine.known()) return;
    const DrawRequest request{.draws = options_.draws, .seed = options_.seed};
    at_speed_.resize(predicted_.size());
    const auto groups = policy_groups(grid_);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const auto reading = machine.of_group(group);
      if (!reading) continue;
      for (const std::uint64_t scenario : groups[group]) {
        const PredictedScenario& predicted = predicted_[scenario];
        if (predicted.run == nullptr || measured_.scenarios[scenario].runs.empty()) continue;
        at_speed_[scenario] =
            predict_at_speed(predicted, calibration_, *reading, request, terminal_.stop);
      }
    }
  }

  [[nodiscard]] int publish_predictions(OutputFolder& folder) const {
    write_file_atomically(folder.path() / "predictions.csv",
                          table_csv(predictions_table(grid_, predicted_)));
    folder.publish();
    const auto known = std::count_if(
        predicted_.begin(), predicted_.end(), [](const auto& one) { return one.run != nullptr; });
    if (options_.json) {
      const nlohmann::ordered_json summary{{"verb", "validate"},
                                           {"out", options_.out},
                                           {"files", {"predictions.csv"}},
                                           {"scenarios", predicted_.size()},
                                           {"predicted", known}};
      terminal_.out << summary.dump(2) << '\n';
    } else {
      terminal_.out << fmt::format(
          "{} of {} scenarios predicted, nothing measured\n  {}: predictions.csv\n",
          known,
          predicted_.size(),
          options_.out);
    }
    return known > 0 ? exit_done : exit_failed;
  }

  void measure() {
    if (!options_.recording.empty()) {
      measured_ = read_recording(options_.recording, grid_, predicted_, warnings_);
      return;
    }
    std::vector<std::vector<Measurable>> groups;
    std::uint64_t scenarios = 0;
    for (const auto& group : policy_groups(grid_)) {
      auto& measurable = groups.emplace_back();
      for (const std::uint64_t scenario : group) {
        const auto& run = predicted_[scenario].run;
        if (run == nullptr) continue;
        ++scenarios;
        measurable.push_back({.scenario = scenario,
                              .predicted = run.get(),
                              .online = [run = run.get()] { return online_policy(*run); }});
      }
    }
    const InterleaveRequest request{.repetitions = options_.repetitions,
                                    .warm_up = options_.warm_up,
                                    .seed = options_.seed,
                                    .kept_traces = options_.kept_traces};
    Progress progress(terminal_, scenarios * (options_.warm_up + options_.repetitions), 0, "runs");
    measured_ = measure_interleaved(
        *measurer_, groups, grid_.size(), request, terminal_.stop, [&](std::uint64_t done) {
          progress.update(done);
        });
    progress.finish();
    measured_.workers = space_.workers();
    measured_.host = std::string{to_string(space_.host_placement())};
  }

  [[nodiscard]] std::optional<Sensitivity> sensitivity_of_closest(
      const Validation& validation) const {
    if (!measured_.complete) return std::nullopt;  // who stops it waits for what there is
    const PairOutcome* closest = nullptr;
    const auto way = [](const PairOutcome& pair) {
      return std::abs(std::log(pair.predicted_ratio));
    };
    const auto scenario_at = [&](std::size_t outcome) {
      return validation.scenarios[outcome].scenario;
    };
    const auto is_small = [&](std::size_t outcome) {
      const auto& run = predicted_[scenario_at(outcome)].run;
      return run != nullptr && run->scenario.problem->graph->task_count() <= max_sensitivity_tasks;
    };
    for (const PairOutcome& pair : validation.pairs) {
      if (way(pair) == 0 || !is_small(pair.first) || !is_small(pair.second)) continue;
      if (closest == nullptr || way(pair) < way(*closest)) closest = &pair;
    }
    if (closest == nullptr) return std::nullopt;
    try {
      return sensitivity(spec_,
                         grid_,
                         {scenario_at(closest->first), scenario_at(closest->second)},
                         {.most_delicate = most_delicate_numbers, .stop = terminal_.stop});
    } catch (const Interrupted&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::size_t shown_outcome(const Validation& validation) const {
    std::optional<std::size_t> shown;
    for (std::size_t i = 0; i < validation.scenarios.size(); ++i) {
      const ScenarioOutcome& outcome = validation.scenarios[i];
      if (!outcome.compared()) continue;
      if (options_.timeline >= 0 &&
          outcome.scenario == static_cast<std::uint64_t>(options_.timeline)) {
        return i;
      }
      if (!shown || std::abs(outcome.error) > std::abs(validation.scenarios[*shown].error)) {
        shown = i;
      }
    }
    return shown.value_or(0);
  }

  [[nodiscard]] RunFiles write_files(const fs::path& folder, const ValidationReport& report) const {
    RunFiles files;
    const auto write = [&](const std::string& name, std::string_view bytes) {
      write_file_atomically(folder / name, bytes);
      files.files.push_back(name);
    };
    write("validation.json", validation_json(report));
    write("scenarios.csv", table_csv(scenarios_table(report)));
    write("pairs.csv", table_csv(pairs_table(report)));
    write("runs.csv", table_csv(runs_table(report)));
    if (library_) write("library.csv", table_csv(library_table(report.validation, report.library)));
    write("report.html", html_of(validation_document(report, true)));
    const Validation& validation = report.validation;
    if (validation.all.count == 0) return files;
    write_picture(folder, "makespans", makespans_picture(report), files);
    write_picture(folder, "error_by_policy", policies_picture(report), files);
    write_picture(folder, "error_budget", budget_picture(report), files);
    if (!measured_.speed_checks.empty()) {
      write_picture(folder, "speed", speed_picture(report), files);
    }
    if (validation.probabilities.count > 0) {
      write_picture(folder, "reliability", reliability_picture(report), files);
    }
    const ScenarioOutcome& shown = validation.scenarios[report.shown];
    const auto [simulated, measured] = overlaid_documents(
        *predicted_[shown.scenario].run, measured_.scenarios[shown.scenario], shown.name);
    write_picture(folder, "timeline", overlay_svg(simulated, measured), files);
    write("timeline.html",
          timeline_html(
              std::array{ViewedRun{.document = &simulated}, ViewedRun{.document = &measured}}));
    write("trace.json", merged_chrome_json(simulated, measured));
    write(std::string{measured_trace_name}, chrome_json(measured));
    return files;
  }

  void print(const ValidationReport& report, const RunFiles& files) const {
    for (const std::string& notice : files.notices) terminal_.err << "note: " << notice << '\n';
    for (const std::string& warning : report.warnings) terminal_.err << "note: " << warning << '\n';
    if (options_.json) {
      terminal_.out << validation_summary_json(report, files.files, options_.out);
      return;
    }
    terminal_.out << text_of(validation_document(report, false));
    terminal_.out << fmt::format("  {}: {}\n", options_.out, fmt::join(files.files, ", "));
  }

  const ValidateOptions& options_;
  const Terminal& terminal_;
  const ValidateParts& parts_;
  const Spec& spec_;
  Grid grid_;
  ScenarioSpace space_;
  ProfileCalibration profile_;
  std::unique_ptr<Measurer> own_measurer_;
  Measurer* measurer_ = nullptr;
  bool ends_synchronized_ = false;  // ValidateParts::ends_synchronized
  CalibrationLookup calibration_;
  std::optional<Baselines> library_;
  std::vector<PredictedScenario> predicted_;
  Measurements measured_;
  std::vector<std::optional<PredictionAtSpeed>> at_speed_;  // by scenario; empty: not checked
  std::vector<std::string> warnings_;
};

}  // namespace

int run_validation(const ValidateOptions& options,
                   const Terminal& terminal,
                   const ValidateParts& parts,
                   const Spec& spec) {
  return ValidateRun{options, terminal, parts, spec}.run();
}

}  // namespace schedlab
