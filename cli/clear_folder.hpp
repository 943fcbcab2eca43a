// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>

namespace schedlab {

/// Removes the folder that `maker` ("a sweep") has made, which has one of these files, or is empty.
/// Throws InputError for another one.
void clear_folder(const std::filesystem::path& folder,
                  std::initializer_list<const char*> files,
                  const std::string& maker);

}  // namespace schedlab
