// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/spec/spec.hpp"

#include <string>

namespace schedlab {

/// A digest of the content of all files a spec names (graphs, machines): two runs with equal specs
/// and digests compute the same. Empty when it names none. Files that cannot be read count as
/// empty; that they are missing is reported where they are used.
[[nodiscard]] std::string input_digest(const Spec& spec);

}  // namespace schedlab
