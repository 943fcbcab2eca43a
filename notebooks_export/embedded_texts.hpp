// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace schedlab {

/// A file of notebooks/ or scripts/ that was compiled into the library.
struct EmbeddedText {
  std::string_view file;  ///< without its folder
  std::string_view text;
};
/// All of them; defined in a generated source file.
[[nodiscard]] const std::vector<EmbeddedText>& embedded_texts();

/// The text of one of them. Throws ContractViolation if there is none of this name.
[[nodiscard]] std::string_view embedded_text(std::string_view file);

}  // namespace schedlab
