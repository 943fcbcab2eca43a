// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A schedule of pipelines that is tried, as specs of scenarios say it.
struct ParallelPolicy {
  std::string name;
  std::string json;       ///< text of its value: a name, or an object with options
  bool overlaps = false;  ///< collectives of one microbatch and what another computes
  bool in_pairs = false;  ///< it is batch_overlap, which does nothing else
};

/// What `schedlab plan-parallel` reads. Empty lists: all that fit.
struct ParallelSpec {
  std::string file;              ///< for messages
  std::filesystem::path folder;  ///< paths are relative to it
  std::string name;
  std::string description;
  std::string model;                           ///< kind of the layers
  std::map<std::string, OptionValue> options;  ///< of them
  std::string workload;                        ///< whose iteration of training is simulated
  std::string machine;                         ///< text of its JSON value
  std::string cost_model;                      ///< empty: the machine's default
  std::uint32_t devices = 1;
  bool use_all = true;                  ///< else at most so many
  std::int64_t batch = 1;               ///< samples of an iteration
  std::optional<Bytes> memory_limit{};  ///< of one device; else the machine's memory
  std::vector<std::int64_t> replicas;
  std::vector<std::int64_t> stages;
  std::vector<std::int64_t> virtual_stages{1, 2};
  std::vector<std::int64_t> tensor_parallel;
  std::vector<std::int64_t> microbatches;
  std::vector<bool> recompute{false, true};
  std::vector<std::string> placement;  ///< of stages on ranks; those that the workload has
  std::vector<std::int64_t> zero{0};   ///< stages of ZeRO
  std::vector<ParallelPolicy> policies;
  std::string training;              ///< text of its JSON value: data and settings; empty: none
  std::size_t rows = 10;             ///< that are ranked
  std::uint64_t simulations = 2000;  ///< at most
};

/// Throws InputError with file, pointer, found and expected: what the schema forbids, and models of
/// which there is no pipeline.
[[nodiscard]] ParallelSpec parse_parallel_spec(const std::string& text,
                                               const std::string& file,
                                               const std::filesystem::path& folder = ".");
[[nodiscard]] ParallelSpec load_parallel_spec(const std::string& path);

/// The option of the workload; nullptr: it has none of that name.
[[nodiscard]] const OptionSpec* option_of(const ParallelSpec& spec, std::string_view name);

/// JSON Schema (draft 7) of the file.
[[nodiscard]] std::string parallel_spec_schema();

}  // namespace schedlab
