// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace schedlab {

/// A machine file that was compiled into the library.
struct MachineText {
  std::string_view name;  ///< the file's name without .json
  std::string_view text;
};

/// All of them, in the order of CMakeLists.txt; defined in a generated source file.
[[nodiscard]] const std::vector<MachineText>& machine_texts();
/// Likewise of the host files.
[[nodiscard]] const std::vector<MachineText>& host_texts();
/// And of the node files.
[[nodiscard]] const std::vector<MachineText>& node_texts();

}  // namespace schedlab
