// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/csv.hpp"
#include "sim/base/fields.hpp"
#include "studies/search/scenario_search.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {

inline constexpr const char* plan_file_name = "plan.json";

/// The fields of search.json.
[[nodiscard]] const Fields<FoundSchedule>& found_fields();
/// The text of search.json: nothing in it depends on the clock.
[[nodiscard]] std::string search_json(const FoundSchedule& found);

/// Makespan of the best plan and its lower bound over the evaluations, as SVG.
[[nodiscard]] std::string search_picture(const FoundSchedule& found);

/// Writes plan, results and picture; the names of the files.
std::vector<std::string> write_search(const std::filesystem::path& folder,
                                      const FoundSchedule& found);

/// For a terminal. `folder` and `files`: where they are.
[[nodiscard]] std::string search_text(const FoundSchedule& found,
                                      const std::string& folder,
                                      const std::vector<std::string>& files);

}  // namespace schedlab
