// SPDX-License-Identifier: Apache-2.0
#include "studies/base/version.hpp"

namespace schedlab {

std::string_view program_version() {
  return SCHEDLAB_VERSION;
}

}  // namespace schedlab
