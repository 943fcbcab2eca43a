// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/reference/command_facts.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// What is wrong with the words of a command line (without the program's name) that was refused: a
/// verb or flag that does not exist, with the nearest one; a value, with what was expected; else
/// `reason`, in the parser's words.
[[nodiscard]] std::string usage_message(const std::vector<VerbFacts>& verbs,
                                        const std::vector<std::string>& words,
                                        const std::string& reason);

}  // namespace schedlab
