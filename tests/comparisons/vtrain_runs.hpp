// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/comparisons/reference_data.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace schedlab::testing {

/// One measured run; times in ms.
struct TrainingRun {
  std::int64_t batch = 0;
  std::int64_t samples = 0;  ///< of a microbatch
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t tensor_parallel = 0;
  std::int64_t data_parallel = 0;
  std::int64_t stages = 0;
  double measured = 0;

  [[nodiscard]] std::int64_t microbatches() const { return batch / samples / data_parallel; }
  /// Bytes of 4 per parameter of `count` layers with word vectors and positions, on one device.
  [[nodiscard]] double parameter_bytes(std::int64_t count) const {
    constexpr double words = 51200;  // assumed: the vocabulary of Megatron's GPT
    constexpr double window = 1024;
    const auto h = static_cast<double>(hidden);
    return 4 * (12 * h * h * static_cast<double>(count) + (words + window) * h) /
           static_cast<double>(tensor_parallel);
  }
  /// Runs with the same kernels: one fit.
  using Cell = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  [[nodiscard]] Cell cell() const { return {tensor_parallel, hidden, samples}; }
  /// All but the stages.
  using Setup = std::array<std::int64_t, 6>;
  [[nodiscard]] Setup setup() const {
    return {batch, samples, hidden, layers, tensor_parallel, data_parallel};
  }
};

inline std::vector<TrainingRun> read_vtrain_runs(const std::filesystem::path& path) {
  std::vector<TrainingRun> runs;
  for (const CsvRow& row : read_csv(path)) {
    const auto number = [&](const char* column) { return std::stoll(row.at(column)); };
    runs.push_back({.batch = number("global batch"),
                    .samples = number("micro batch"),
                    .hidden = number("hidden size"),
                    .layers = number("# layers"),
                    .tensor_parallel = number("tensor parallelism"),
                    .data_parallel = number("data parallelism"),
                    .stages = number("pipeline parallelism"),
                    .measured = std::stod(row.at("iteration time (ms)"))});
  }
  return runs;
}

}  // namespace schedlab::testing
