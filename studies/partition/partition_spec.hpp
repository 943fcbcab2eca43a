// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/pipeline/partitioner.hpp"
#include "sim/base/options.hpp"
#include "sim/base/schema_parts.hpp"
#include "sim/pipeline/layer_graph.hpp"
#include "sim/pipeline/partition.hpp"

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace schedlab {

/// What `schedlab partition` reads, with the model made and its times known.
struct PartitionSpec {
  std::string file;  ///< for messages
  std::string name;
  std::string description;
  std::string machine;  ///< whose times these are; empty: the model's own
  LayerGraph graph;
  IdVector<LayerId, LayerTimes> times;
  PartitionRequest request;                 ///< but for the accelerators
  std::vector<std::uint32_t> accelerators;  ///< one search each
  /// The user's own stages, instead of a search; empty: "auto".
  IdVector<LayerId, std::uint32_t> stage_of;
  std::vector<std::uint32_t> replicas;  ///< of those stages
  std::vector<std::string> notes;       ///< what was assumed or not used
};

/// Throws InputError with file, pointer, found and expected: what the schema forbids, a model or
/// machine that is not known, names of layers that do not exist, stages of no or the same layers.
/// InfeasibleError: layers per stage that do not add up, a machine that cannot run a layer.
[[nodiscard]] PartitionSpec parse_partition_spec(const std::string& text,
                                                 const std::string& file,
                                                 const std::filesystem::path& folder = ".");
[[nodiscard]] PartitionSpec load_partition_spec(const std::string& path,
                                                std::ostream* notes = nullptr);

/// JSON Schema (draft 7) of the file, and of files of layers.
[[nodiscard]] std::string partition_spec_schema();
[[nodiscard]] std::string layers_schema();
/// Of the value of "layers": the models, with their options.
[[nodiscard]] schema::Json layer_models_schema();

}  // namespace schedlab
