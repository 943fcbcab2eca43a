// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checkout.hpp"

#include <cstdlib>

namespace schedlab::testing {

std::filesystem::path checkout() {
  return SCHEDLAB_SOURCE_DIR;
}

std::filesystem::path reference_data_folder() {
  const char* given =
      std::getenv("SCHEDLAB_REFERENCE_DATA");  // NOLINT(concurrency-mt-unsafe): reads
  return given != nullptr ? std::filesystem::path{given} : checkout() / ".." / "shared" / "data";
}

}  // namespace schedlab::testing
