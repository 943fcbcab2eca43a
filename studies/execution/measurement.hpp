// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/machine/drift.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"
#include "studies/scenario/scenario.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// What a device is asked to run once.
struct MeasureRequest {
  std::uint64_t scenario = 0;
  const FullRun& predicted;  ///< the problem, and the plan of the simulated run
  /// A policy that decides while it runs; nullptr: run the plan.
  OnlinePolicy* online = nullptr;
};

/// One run on a device.
struct MeasuredRun {
  Trace trace;               ///< from the start of the run at time 0, host calls and flows too
  std::optional<Plan> plan;  ///< what ran, if an online policy decided it
  /// Makespan of a second run, in which tasks were not timed, where timing them costs time;
  /// nullopt: the trace's.
  std::optional<Duration> makespan{};
  std::optional<Bytes> tensors_peak{};  ///< allocated at most, where that was counted
};

/// A device that runs plans for real. Called by one thread.
class Measurer {
 public:
  Measurer() = default;
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;
  virtual ~Measurer() = default;

  /// "cpu: MODEL, 2 workers", for the report.
  [[nodiscard]] virtual std::string device() const = 0;
  /// Errors   Interrupted ends all; other exceptions of the standard library end this scenario,
  ///          with their text as its note.
  [[nodiscard]] virtual MeasuredRun measure(const MeasureRequest& request) = 0;
  /// The scenarios of one group follow.
  virtual void begin_group() {}
  /// How fast the device is at this moment, against when it was calibrated; nullopt where that
  /// cannot be told. Takes some milliseconds.
  /// Throws Interrupted.
  [[nodiscard]] virtual std::optional<DriftReading> check_speed() { return std::nullopt; }
};

/// One kept run of a scenario, in the order of running.
struct RunRecord {
  std::uint32_t round = 0;     ///< of its group, warm-up not counted
  std::uint32_t position = 0;  ///< in its round
  Duration makespan{0};

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

/// The device's speed between two rounds.
struct SpeedCheck {
  std::size_t group = 0;
  std::uint32_t round = 0;  ///< the kept round that follows; the number of rounds after the last
  double at_s = 0;          ///< since the start of the measurement
  DriftReading reading;

  friend bool operator==(const SpeedCheck&, const SpeedCheck&) = default;
};

/// Everything that was measured of one scenario.
struct MeasuredScenario {
  std::vector<RunRecord> runs;
  std::vector<Trace> traces;  ///< of the runs nearest to the median, nearest first
  std::vector<Plan> plans;    ///< one for each trace, if an online policy decided them; else empty
  std::string note;           ///< why there is nothing; empty: there is
  std::optional<Bytes> tensors_peak;  ///< most of all kept runs
};

struct Measurements {
  std::string device;
  std::string date;               ///< UTC, as 2026-11-21T22:10:00Z
  std::uint32_t repetitions = 0;  ///< as asked for
  std::uint32_t warm_up = 0;
  std::uint64_t seed = 0;
  std::uint32_t workers = 0;  ///< and where the host ran: what plans were prepared for; 0: nothing
  std::string host;
  std::vector<MeasuredScenario> scenarios;  ///< by scenario
  std::vector<SpeedCheck> speed_checks;     ///< in the order of time; empty: the device has none
  std::optional<double> other_load;         ///< share of the cores that went to other processes
  bool complete = true;                     ///< false: stopped before the end
};

struct InterleaveRequest {
  std::uint32_t repetitions = 15;
  std::uint32_t warm_up = 2;  ///< rounds whose times are not kept
  std::uint64_t seed = 1;     ///< of the order in each round
  std::size_t kept_traces = 3;
};

/// The runs of one scenario to be measured: prediction, and its policy's decisions if they are
/// made while it runs.
struct Measurable {
  std::uint64_t scenario = 0;
  const FullRun* predicted = nullptr;
  std::function<std::unique_ptr<OnlinePolicy>()> online;  ///< may be empty, or return nullptr
};

/// Called after each round with the number of runs that are done, warm-up included.
using MeasureObserver = std::function<void(std::uint64_t done)>;

/// Runs each group's scenarios round by round, each round in a new seeded random order, so that
/// what drifts on the machine meets all of a group alike. Before the first and after the last round
/// of a group, and between rounds as long as that takes less than 3 % of the time, the device's
/// speed is checked. `scenarios` of the grid in all. A round
/// that is stopped in the middle is dropped: all scenarios of a group have the same rounds, but for
/// those that failed.
[[nodiscard]] Measurements measure_interleaved(Measurer& measurer,
                                               const std::vector<std::vector<Measurable>>& groups,
                                               std::uint64_t scenarios,
                                               const InterleaveRequest& request,
                                               const StopFlag* stop,
                                               const MeasureObserver& observer);

/// Keeps the `kept` traces whose makespans are nearest to the median of all runs, nearest first.
void keep_nearest_traces(MeasuredScenario& scenario, std::size_t kept);

}  // namespace schedlab
