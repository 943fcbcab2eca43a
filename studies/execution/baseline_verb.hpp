// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/execution/baseline.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace schedlab {

struct BaselineOptions {
  std::string spec{};
  std::string out{};
  std::string library{};
  std::string device{};   ///< in place of `library`: that of the device
  std::string machine{};  ///< file that replaces the spec's machine
  std::uint32_t repetitions = 20;
  std::uint32_t warm_up = 3;
  std::uint32_t threads = 0;
  std::uint64_t seed = 1;
  bool check = false;
  bool profile = false;
  bool overwrite = false;
  bool json = false;
};

/// Times a vendor library's own recurrent networks on the workloads of a spec -> a folder with
/// baseline.json and baseline.csv, which has each network as soon as it is finished. exit_failed if
/// nothing ran, and with --check if an output is further from the reference than the data type
/// explains. `library`, for tests: made instead of that of the options.
[[nodiscard]] int run(const BaselineOptions& options,
                      const Terminal& terminal,
                      const std::function<TimedLibrary()>& library = {});

}  // namespace schedlab
