// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace schedlab {

/// A file of notebooks/ that was compiled into the library.
struct NotebookText {
  std::string_view name;
  std::string_view text;
};
/// All of them; defined in a generated source file.
[[nodiscard]] const std::vector<NotebookText>& notebook_texts();

}  // namespace schedlab
