// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct ExecuteOptions {
  std::string spec{};
  std::string out{};
  std::string device = "cpu";
  std::string host = "own_core";
  std::string proxy{};  ///< "", "spin" or "shapes"
  std::string allocate = "whole_run";
  std::string launch{};  ///< word that replaces the spec's; empty: the spec's
  std::uint32_t workers = 0;
  std::uint32_t repetitions = 5;
  std::uint32_t ranks = 0;        ///< of --device mpi; 0: as the spec says
  std::uint32_t connections = 0;  ///< of a CUDA device; 0: as the environment says
  std::string precision{};        ///< of a CUDA device: "", "fp32", "tf32" or "bf16"
  std::string products{};         ///< of a CUDA device: "", "cublas" or "cublaslt"
  bool debug_sync = false;        ///< of a CUDA device
  bool profile = false;           ///< of a CUDA device
  bool pin = true;
  bool overwrite = false;
  bool no_trace = false;
  bool json = false;
};

/// `execute` on a device of device_kinds(): runs one scenario for real, several times -> a folder
/// with the files that `simulate` writes. Of a device that sees its tasks they are of the run with
/// the median makespan; else the makespans are of runs in which nothing is timed but the whole, and
/// the files of one more run, whose tasks are timed. A run that fails or is stopped leaves
/// trace.partial.json with what is known of it until then. Throws InputError for another device.
[[nodiscard]] int run_on_device(const ExecuteOptions& options, const Terminal& terminal);

}  // namespace schedlab
