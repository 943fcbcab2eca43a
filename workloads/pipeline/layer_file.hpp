// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/pipeline/layer_graph.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Layers from a file, and what it says of the accelerators they were meant for.
struct LayerFile {
  LayerGraph graph{};
  bool forward_only = false;         ///< the file has no backward pass
  std::uint32_t accelerators = 0;    ///< 0: it does not say
  Bytes memory{};                    ///< of one accelerator; 0: it does not say
  std::vector<std::string> notes{};  ///< what the file says and is not used
};

/// Our own form, JSON (docs/pipeline_partition.md).
/// Errors   InputError with file, JSON pointer, what was found and what was expected.
[[nodiscard]] LayerGraph read_layers_json(std::string_view text, const std::string& file);
/// Reading it again gives the same layers.
[[nodiscard]] std::string write_layers_json(const LayerGraph& graph);

/// A graph of the partitioning study of Tarnawski et al. (NeurIPS 2020, arXiv 2006.16423), of
/// inference: `fpgaLatency` in ms is the forward pass, `cost` in ms of an edge the transfer of its
/// source, `size` of a node its memory, of an edge the activation. CPUs are not used (a note).
/// Errors   InputError, also for graphs of training, and for nodes that only a CPU can run.
[[nodiscard]] LayerFile read_partitioning_json(std::string_view text, const std::string& file);

/// A profile of PipeDream (Narayanan et al., SOSP 2019): a line per layer,
/// `ID -- DESCRIPTION -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES,
/// parameter_size=BYTES`, and a line per edge, `ID -- ID`. Layers that are described as Input are
/// left out: their time is that of loading data. The file does not divide the backward pass; of
/// layers with parameters each gradient is assumed to take half of it. What is kept is the output.
/// Errors   InputError naming the line.
[[nodiscard]] LayerGraph read_pipedream_profile(std::string_view text, const std::string& file);

/// Any of these by content; also compressed with gzip. Checked by check_layers().
[[nodiscard]] LayerFile read_layer_file(const std::filesystem::path& path);

}  // namespace schedlab
