// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_executor.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "studies/validation/prediction.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {

/// Names in the folder of a recording; docs/validation.md describes the format.
inline constexpr const char* recording_file = "recording.json";
inline constexpr const char* recorded_machine = "machine.json";

/// What a recording is made of, besides the measurements.
struct RecordingFacts {
  const Spec& spec;
  const Grid& grid;
  const std::vector<PredictedScenario>& predicted;
  std::string machine_file;        ///< as given with --machine; empty: the spec's own
  bool ends_synchronized = false;  ///< runs end when the host has waited for the device
};

/// The JSON Schema of recording.json.
[[nodiscard]] std::string recording_schema();

/// Writes recording.json, spec.json, machine.json (if one was given), and for each measured
/// scenario its plan and traces. Returns the names. Throws InputError if nothing can be written.
std::vector<std::string> write_recording(const std::filesystem::path& folder,
                                         const RecordingFacts& facts,
                                         const Measurements& measured);

/// What plans were prepared for when they were recorded.
struct RecordedHost {
  std::uint32_t workers = 0;  ///< 0: for nothing in particular
  HostPlacement host = HostPlacement::own_core;
  bool ends_synchronized = false;  ///< RecordingFacts::ends_synchronized
};
/// Throws InputError as read_recording().
[[nodiscard]] RecordedHost read_recorded_host(const std::filesystem::path& folder);

/// Reads what write_recording() wrote, for the scenarios of this grid.
///
/// Errors   InputError with file and pointer: no recording, another version, a scenario with
///          another name or number of tasks than the spec's; what trace and plan files are refused
///          for. A scenario that was not recorded has a note.
[[nodiscard]] Measurements read_recording(const std::filesystem::path& folder,
                                          const Grid& grid,
                                          const std::vector<PredictedScenario>& predicted,
                                          std::vector<std::string>& notices);

}  // namespace schedlab
