// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "calibration/calibration.hpp"
#include "calibration/device_bench.hpp"
#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

struct CalibrateOptions {
  std::string device = "cpu";
  std::string out{};
  std::string name{};  ///< of the machine; empty: cpu, or gpu
  std::uint32_t workers = 0;
  std::string base{};  ///< machine that the device resembles; empty: by the device's name
  std::uint32_t connections = 0;  ///< hardware connections; 0 = CUDA's choice
  std::string products{};         ///< of a CUDA device: "", "cublas" or "cublaslt"
  bool quick = false;
  double seconds = 0;                   ///< cpu: that all kernels may take; 0 = what `quick` says
  std::vector<std::string> from{};      ///< tables of measured operators, instead of a device
  std::vector<std::string> transfer{};  ///< machines that fitted products are carried over from
  std::string machine{};                ///< with tables: the machine that is calibrated
  std::uint32_t shapes = 0;  ///< of a micro-sweep that is written instead of a machine; 0: none
  bool json = false;
};

/// Measures this computer and writes a machine file, all of it or nothing.
[[nodiscard]] int run(const CalibrateOptions& options, const Terminal& terminal);
/// Fits the cost models of a machine to tables of measured operators: its machine file, and beside
/// it FILE.table_report.json, FILE.table_report.md and FILE.KIND_TYPE_residuals.svg.
[[nodiscard]] int run_tables(const CalibrateOptions& options, const Terminal& terminal);
/// The same on another bench.
[[nodiscard]] int run(const CalibrateOptions& options,
                      CalibrationBench& bench,
                      const Terminal& terminal);
/// Measures a device: its machine file, and beside it FILE.device_report.json and
/// FILE.device_report.md without FILE's ".json". `base`: the machine it is believed to be.
[[nodiscard]] int run(const CalibrateOptions& options,
                      DeviceBench& bench,
                      const MachineSpec& base,
                      const Terminal& terminal);

}  // namespace schedlab
