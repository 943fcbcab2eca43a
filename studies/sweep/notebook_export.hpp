// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace schedlab {

/// Name of the notebook in the folder that it is about, where no other is given.
inline constexpr const char* default_notebook = "notebook.ipynb";

/// Writes a Jupyter notebook about a folder that simulate, execute, sweep or validate has written,
/// or a recording of validate (or a file in such a folder), and returns its path: `out`, or
/// default_notebook in the folder where `out` is empty. The notebook refers to the folder relative
/// to itself.
///
/// Errors   InputError for a path that is none of these, and for a notebook that is there and says
///          something else, as an edited one does, unless `overwrite`.
std::filesystem::path export_notebook(const std::filesystem::path& input,
                                      const std::filesystem::path& out,
                                      bool overwrite = false);

}  // namespace schedlab
