// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/loaded_library.hpp"

#include <string>
#include <string_view>

namespace schedlab::detail {

/// A library of the CUDA toolkit, of the major version that this program was built for, as the
/// loader finds it, else in the toolkit's folder at the time of the build. `name`: of lib<name>.so.
/// Throws DeviceError.
[[nodiscard]] LoadedLibrary toolkit_library(std::string what,
                                            std::string_view name,
                                            int major_version);

}  // namespace schedlab::detail
