// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace schedlab::testing {

/// The checkout that this program was built from: its experiments, golden files and sources.
[[nodiscard]] std::filesystem::path checkout();

/// Where published measurements lie, if they are here: SCHEDLAB_REFERENCE_DATA of the environment.
[[nodiscard]] std::filesystem::path reference_data_folder();

}  // namespace schedlab::testing
