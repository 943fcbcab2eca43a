// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/layer_file.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"

#include <string>

namespace schedlab {

LayerFile read_layer_file(const std::filesystem::path& path) {
  const std::string bytes = read_file_or_gzip(path);
  const std::string name = path.string();
  LayerFile file;
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && bytes[start] == '{') {
    if (bytes.find("\"maxFPGAs\"") != std::string::npos) {
      file = read_partitioning_json(bytes, name);
    } else {
      file.graph = read_layers_json(bytes, name);
    }
  } else if (bytes.find("forward_compute_time=") != std::string::npos) {
    file.graph = read_pipedream_profile(bytes, name);
  } else {
    throw InputError({.file = name,
                      .pointer = {},
                      .found = "no layers",
                      .expected = "JSON with \"schedlab\": \"layers\", a graph of the partitioning "
                                  "study (JSON), or a profile of PipeDream (text)",
                      .hint = {}});
  }
  std::string stem = path.stem().string();
  if (stem.find('.') != std::string::npos) stem.resize(stem.find('.'));
  if (file.graph.name == name) file.graph.name = stem;
  check_layers(file.graph, name);
  return file;
}

}  // namespace schedlab
