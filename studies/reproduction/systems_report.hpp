// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/reproduction/reproduction.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// Several publications in one report, each with a section of its own. All functions expect at
/// least one reproduction, all of them quick or none.

/// reproduction.md: what came of every published number, those that are missed with their cause,
/// those that cannot be derived with the reason. Nothing in it depends on the time, the computer or
/// the program's version, so that it can be kept and compared.
[[nodiscard]] std::string systems_markdown(const std::vector<Reproduction>& reproductions);

/// report.html: one file without scripts; refers to each system's own report at NAME/report.html.
[[nodiscard]] std::string systems_html(const std::vector<Reproduction>& reproductions,
                                       const std::string& program);

/// reproduction.csv: the rows of all systems, with the column `system` before those of a single
/// one's.
[[nodiscard]] std::string systems_csv(const std::vector<Reproduction>& reproductions);

}  // namespace schedlab
