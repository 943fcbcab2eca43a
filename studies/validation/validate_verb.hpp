// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/validation/prediction.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct ValidateOptions {
  std::string spec{};
  std::string device{};  ///< as --device names it
  std::string host{};    ///< placement; empty: on a core of its own, if one is left
  std::string proxy{};   ///< "", "spin" or "shapes"
  std::string allocate = "whole_run";
  std::uint32_t connections = 0;  ///< of a CUDA device; 0: as the machine says
  std::string precision{};        ///< of a CUDA device: "", "fp32", "tf32" or "bf16"
  std::string products{};         ///< of a CUDA device: "", "cublas" or "cublaslt"
  std::string launch{};           ///< word that replaces the spec's; empty: the spec's
  std::uint32_t workers = 0;
  bool pin = true;
  std::string recording{};  ///< folder, instead of a device
  std::string machine{};    ///< file that replaces the spec's machine
  std::string out{};
  std::string record{};     ///< folder that keeps what was measured
  std::string baseline{};   ///< baseline.json of a library to compare with
  std::uint32_t turns = 0;  ///< of the fastest plan and that library, one after the other
  std::uint32_t repetitions = 15;
  std::uint32_t warm_up = 2;
  std::uint32_t draws = 100;
  std::uint64_t seed = 1;
  std::uint32_t kept_traces = 3;  ///< of each scenario, those nearest to the median
  bool predict_only = false;      ///< nothing is measured
  std::int64_t timeline = -1;     ///< scenario; -1: the one with the largest error
  std::string max_median_error{};
  std::string max_p90_error{};
  std::string min_order{};
  std::string min_coverage{};
  std::string require{};  ///< evidence that every prediction must have; empty: any
  bool overwrite = false;
  bool json = false;
};

/// What a validation needs besides its options: given by the program, or by a test.
struct ValidateParts {
  Measurer* measurer = nullptr;     ///< nullptr: made for the device of the options
  CalibrationLookup calibration{};  ///< empty: what the machine's profile says
  /// Do the measurer's runs end when the host has waited for the device, as a CUDA device's do?
  /// Else with the last activity.
  bool ends_synchronized = false;
};

/// Simulates and measures a grid of scenarios and compares them: a folder with figures, tables,
/// pictures and a report. Returns exit_failed if it was interrupted, nothing could be compared or a
/// given bound is not kept; the files are written in any case.
[[nodiscard]] int run(const ValidateOptions& options, const Terminal& terminal);
[[nodiscard]] int run(const ValidateOptions& options,
                      const Terminal& terminal,
                      const ValidateParts& parts);

/// "5%", "5 %" or "0.05" as 0.05. Throws InputError that names the flag.
[[nodiscard]] double share_option(const std::string& text, const std::string& flag);

}  // namespace schedlab
