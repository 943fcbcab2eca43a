// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace schedlab {

/// What a notebook is about: the folder of which verb it reads.
enum class NotebookSubject : std::uint8_t { run, sweep, validation, recording };
template <>
struct EnumNames<NotebookSubject> {
  static constexpr auto names = name_list("run", "sweep", "validation", "recording");
};

/// What differs between two notebooks about the same kind of folder.
struct NotebookFacts {
  NotebookSubject subject = NotebookSubject::run;
  std::string title;    ///< its heading
  std::string folder;   ///< with the results, as seen from the notebook's own folder
  std::string program;  ///< name and version of what wrote it
};

/// A Jupyter notebook (nbformat 4.5, no outputs): narrative, one cell of parameters (tagged
/// "parameters"), and cells that load the folder with pandas and draw with matplotlib.
///
/// The cells are the files of notebooks/ in percent format: `# %%` starts a code cell,
/// `# %% [markdown]` text, `# %% [parameters]` the cell of parameters, and `# %% [cells NAME]`
/// stands for all cells of another file. {{title}} and {{program}} are replaced in text,
/// {{folder}} in code, where it becomes a string.
///
/// Errors   ContractViolation if a file of notebooks/ names cells that do not exist.
[[nodiscard]] std::string notebook_json(const NotebookFacts& facts);

}  // namespace schedlab
