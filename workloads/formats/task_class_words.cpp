// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/task_class_words.hpp"

namespace schedlab::detail {

const std::vector<std::string>& task_class_names() {
  static const std::vector<std::string> names{"unclassified",
                                              "critical_matmul",
                                              "critical_pointwise",
                                              "weight_gradient",
                                              "update",
                                              "transfer"};
  return names;
}

std::string_view task_class_name(TaskClass task_class) {
  return task_class_names()[static_cast<std::size_t>(task_class)];
}

}  // namespace schedlab::detail
