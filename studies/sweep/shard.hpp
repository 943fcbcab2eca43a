// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace schedlab {

/// One of `count` parts of a sweep's scenarios, for computers that share nothing but files.
struct Shard {
  std::uint32_t number = 1;  ///< from 1
  std::uint32_t count = 1;

  /// Parts are dealt out in blocks, and each round begins one part further, so that parts take
  /// about as long as each other and no policy or machine stays with one of them.
  [[nodiscard]] bool has(std::uint64_t scenario, std::uint64_t scenarios) const;
  /// Scenarios of this part; of two parts they differ by a block at most.
  [[nodiscard]] std::uint64_t size(std::uint64_t scenarios) const;
  [[nodiscard]] std::string name() const;  ///< "3/64"

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// The value of an environment variable, if there is one.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// "3/64", or "64": the number is then that of the task of a job array, from SLURM_ARRAY_TASK_ID
/// (less SLURM_ARRAY_TASK_MIN), SGE_TASK_ID (less SGE_TASK_FIRST) or PBS_ARRAY_INDEX (from 1).
/// Throws InputError.
[[nodiscard]] Shard shard_of(const std::string& text, const Environment& environment);
/// The same in the environment of this process.
[[nodiscard]] Shard shard_of(const std::string& text);

/// The batch script of a job array of `scheduler` (slurm, pbs or sge) with `shards` tasks that run
/// `command`. `seconds`: time limit of a task; nullopt: the scheduler's own.
[[nodiscard]] std::string batch_script(const std::string& scheduler,
                                       std::uint32_t shards,
                                       const std::string& name,
                                       const std::string& command,
                                       std::optional<double> seconds);

}  // namespace schedlab
