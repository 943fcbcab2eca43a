// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/embedded_texts.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <string>

namespace schedlab {

std::string_view embedded_text(std::string_view file) {
  const auto& texts = embedded_texts();
  const auto found = std::find_if(
      texts.begin(), texts.end(), [&](const EmbeddedText& one) { return one.file == file; });
  SCHEDLAB_EXPECTS(found != texts.end(), std::string{file});
  return found->text;
}

}  // namespace schedlab
