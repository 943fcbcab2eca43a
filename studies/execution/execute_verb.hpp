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

/// `execute --device cpu`: runs one scenario for real, several times -> a folder with the files
/// that `simulate` writes, of the run with the median makespan. A run that fails or is stopped
/// leaves trace.partial.json with what happened until then. Throws InputError for another device.
[[nodiscard]] int run_on_cpu(const ExecuteOptions& options, const Terminal& terminal);
/// `execute` on a CUDA device: makespans from runs in which nothing is timed but the whole, then
/// one run whose tasks are timed by events of the device, which gives the files.
[[nodiscard]] int run_on_cuda(const ExecuteOptions& options, int device, const Terminal& terminal);

}  // namespace schedlab
