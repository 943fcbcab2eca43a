// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab {

const std::vector<std::string>& launch_words() {
  static const std::vector<std::string> words{
      "eager", "eager_two_thread", "graph_mode", "graph_launch", "sink"};
  return words;
}

void expect_supported_launch(std::string_view word) {
  if (word == "eager") return;
  throw InfeasibleError(
      fmt::format("launch \"{}\" is not simulated by this version\n  use \"launch\": \"eager\"",
                  word),
      "launch mode",
      std::string{word},
      "eager");
}

}  // namespace schedlab
