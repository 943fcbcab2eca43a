// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench_options.hpp"

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string_view>

namespace schedlab::bench {

Options read_options(int argc, char** argv) {
  Options options;
  std::uint32_t largest = 1'000'000;
  // Repetitions of all benchmarks are mixed, so that a noisy minute hits all of them alike.
  std::string mixed = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> rest{argv[0], mixed.data()};
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string value{flag.substr(flag.find('=') + 1)};
    if (flag.starts_with("--largest=")) {
      largest = static_cast<std::uint32_t>(std::stoul(value));
    } else if (flag.starts_with("--repetitions=")) {
      options.repetitions = std::stoi(value);
    } else if (flag.starts_with("--seconds=")) {
      options.seconds = std::stod(value);
    } else if (flag.starts_with("--scenarios=")) {
      options.scenarios = std::stoull(value);
    } else if (flag.starts_with("--sweeps=")) {
      options.sweeps = value;
    } else if (flag.starts_with("--json=")) {
      options.json = value;
    } else {
      rest.push_back(argv[i]);
    }
  }
  for (std::uint32_t size = 10'000; size <= largest && size <= 10'000'000; size *= 10) {
    options.sizes.push_back(size);
  }
  if (options.sizes.empty()) throw std::runtime_error("--largest must be at least 10000");
  int count = static_cast<int>(rest.size());
  rest.push_back(nullptr);
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    throw std::runtime_error(
        "see --largest, --repetitions, --seconds, --scenarios, --sweeps, --json");
  }
  return options;
}

}  // namespace schedlab::bench
