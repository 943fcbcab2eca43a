// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

/// Adds examples to the help of the program's verbs.
void add_examples(CLI::App& program);

/// All verbs with their arguments, as Markdown.
[[nodiscard]] std::string command_line_page(const CLI::App& program);
/// A manual page (section 1) for `man`; equal on every day and computer.
[[nodiscard]] std::string manual_page(const CLI::App& program, const std::string& version);
/// Completion of verbs, flags, words that a flag or argument may be, and file names, for bash.
[[nodiscard]] std::string bash_completion(const CLI::App& program);

}  // namespace schedlab
