// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/activity.hpp"
#include "profiler/kernels_in_flight.hpp"
#include "real_exec/vendor/library_rnn.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/scenario/components.hpp"
#include "studies/spec/grid.hpp"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

struct Baselines;

struct BaselineRequest {
  RnnLibrary library = RnnLibrary::onednn;
  RnnDevice device{};
  std::uint32_t repetitions = 20;
  std::uint32_t warm_up = 3;  ///< rounds whose times are not kept
  std::uint64_t seed = 1;     ///< of inputs and weights
  std::uint32_t threads = 0;  ///< of a library for the CPU; 0: one for each core
  /// Compare all outputs with the double-precision reference, which is slow: about a second for ten
  /// GFLOP.
  bool check = false;
  /// For a library on CUDA devices: one recorded round after the warm-up instead of timed ones.
  bool profile = false;
  const StopFlag* stop = nullptr;
  /// Called after each variant, with the number of those that are done.
  std::function<void(std::uint64_t)> observer{};
  /// Called after each network but the last with all that are finished; not with `profile`.
  std::function<void(const Baselines&)> finished{};
};

/// What is timed.
struct TimedLibrary {
  std::string description;  ///< version and device
  std::vector<RnnVariant> variants;
  std::function<std::unique_ptr<LibraryRnn>(
      const RecurrentSpec&, const RecurrentInputs<float>&, const RnnVariant&)>
      make;
  std::function<void()> synchronize;  ///< throws DeviceError if the device does not answer
};

/// Throws DeviceError if the library or its device is missing.
[[nodiscard]] TimedLibrary timed_library(RnnLibrary library, const RnnDevice& device = {});

/// The times of one call of a library, in the order of the runs.
struct CallTimes {
  RnnCall call = RnnCall::forward;
  std::vector<Duration> runs;

  [[nodiscard]] double median_us() const;
};

/// One variant on one network.
struct BaselineVariant {
  RnnVariant variant;
  std::string note;              ///< why there is nothing; empty: there is
  std::vector<CallTimes> calls;  ///< those that the library has
  /// Largest ‖output - reference‖ / ‖reference‖ of all outputs, and which it is; with `check`.
  std::optional<double> difference;
  std::string worst_output{};
  std::optional<KernelsInFlight> in_flight;  ///< of the backward call, with `profile`

  /// nullptr: the library has no such call, or the variant did not run.
  [[nodiscard]] const CallTimes* find(RnnCall call) const;
};

/// One workload of a spec.
struct BaselineWorkload {
  std::string label;
  RecurrentSpec spec;
  std::vector<BaselineVariant> variants;

  /// The variant with the smallest median of a call; nullptr: none has it.
  [[nodiscard]] const BaselineVariant* fastest(RnnCall call) const;
};

struct Baselines {
  RnnLibrary library = RnnLibrary::onednn;
  std::string description;  ///< version and device
  std::string date;         ///< UTC, as 2026-11-21T22:10:00Z
  std::uint32_t repetitions = 0;
  std::uint32_t warm_up = 0;
  std::uint64_t seed = 0;
  bool profiled = false;  ///< times include the profiler's cost
  std::vector<BaselineWorkload> workloads;
  std::optional<ActivityLog> log;  ///< what was recorded; not in the file
};

/// Two networks that differ only in how they are cut into tasks are one for a library.
[[nodiscard]] bool same_network(const RecurrentSpec& a, const RecurrentSpec& b);

/// Networks of the spec that a library can be asked for, each once, whatever machines and policies
/// the spec has; how they are cut into tasks does not matter to a library.
/// Throws InputError if the spec has none.
[[nodiscard]] std::vector<BaselineWorkload> baseline_workloads(const Grid& grid,
                                                               const Components& components);

/// Runs every variant of the library on every workload, one workload after the other. A variant
/// that does not do a network, or fails, is noted; the runs of all others of one workload take
/// turns. Throws DeviceError if the device does not answer after a failure, or with `profile` if
/// the profiler is missing; Interrupted. `library`, for tests: made instead of that of the request.
[[nodiscard]] Baselines measure_baselines(const BaselineRequest& request,
                                          std::vector<BaselineWorkload> workloads,
                                          const std::function<TimedLibrary()>& library = {});

/// baseline.json; its schema is baseline_schema().
[[nodiscard]] std::string baseline_json(const Baselines& baselines);
[[nodiscard]] std::string baseline_schema();
/// The file back. Throws InputError with pointer for what does not fit the schema.
[[nodiscard]] Baselines read_baselines(const std::string& file, std::ostream* notes = nullptr);
/// baseline.csv: one line per workload, variant and call.
[[nodiscard]] std::string baseline_csv(const Baselines& baselines);
/// For a terminal.
[[nodiscard]] std::string baseline_text(const Baselines& baselines);

}  // namespace schedlab
