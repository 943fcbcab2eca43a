// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// The words of TaskClass in graph files, in the order of the enumerators.
[[nodiscard]] const std::vector<std::string>& task_class_names();
[[nodiscard]] std::string_view task_class_name(TaskClass task_class);

}  // namespace schedlab::detail
