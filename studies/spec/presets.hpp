// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A workload shape with a name: option values that a spec may refer to and override.
struct Preset {
  std::string name;
  std::string summary;
  std::string source;  ///< where the shape is published; "assumed" where it is not
  std::map<std::string, OptionValue> options;
};

[[nodiscard]] const std::vector<Preset>& presets();
[[nodiscard]] std::vector<std::string> preset_names();
/// The workload kind of all presets.
[[nodiscard]] std::string_view preset_kind();
/// ContractViolation for an unknown name; the schema has refused it before.
[[nodiscard]] const Preset& preset(std::string_view name);

}  // namespace schedlab
