// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A model that a spec may name as the "kind" of its layers.
struct LayerWorkload {
  std::string name;
  std::string summary;  ///< one sentence
  std::vector<OptionSpec> options;
  std::function<LayerFile(const Options&)> make;
};

/// All of them, in the order of the documentation.
[[nodiscard]] const std::vector<LayerWorkload>& layer_workloads();

/// Throws InputError for an unknown name or option, with the closest spelling, and what `make`
/// throws.
[[nodiscard]] LayerFile make_layers(std::string_view name,
                                    const std::map<std::string, OptionValue>& given = {});

}  // namespace schedlab
