// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace schedlab {

class OpenClExecutor;

/// Of a kernel of CLBlast in single precision, under CLBlast's own names: all that it has.
using KernelParameters = std::map<std::string, std::uint32_t>;
/// By kernel: "Xgemm", "XgemmDirect", "GemmRoutine".
using ProductParameters = std::map<std::string, KernelParameters>;

struct TunedKernel {
  std::string kernel;
  KernelParameters parameters;
  std::string how;  ///< "fastest of 7 sets in products by the kernel alone, 21 GFLOP/s; ..."
};

/// Called before each set of parameters is timed: how many are done, and how many there are.
using TuningProgress = std::function<void(std::size_t, std::size_t)>;

/// Times sets of parameters of CLBlast's matrix products on the executor's device, in rounds, and
/// leaves the executor with the fastest. A set that the device does not run, or with which results
/// differ by more than 1e-5 of the largest, is none. `quick`: fewer sets. About 10 s a set, in
/// which drivers compile; empty where the library takes no parameters.
/// Throws DeviceError, and what `progress` throws: CLBlast then has its own parameters again.
/// Source: Nugteren, CLBlast, IWOCL 2018, doi 10.1145/3204919.3204924.
[[nodiscard]] std::vector<TunedKernel> tune_products(OpenClExecutor& executor,
                                                     bool quick,
                                                     const TuningProgress& progress);

}  // namespace schedlab
