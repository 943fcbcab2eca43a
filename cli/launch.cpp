// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

const std::vector<std::string>& launch_words() {
  static const std::vector<std::string> words{
      "eager", "eager_two_thread", "graph_mode", "graph_launch", "sink"};
  return words;
}

const std::vector<std::string>& default_stream_words() {
  static const std::vector<std::string> words{"per_thread", "legacy"};
  return words;
}

LaunchMode launch_mode(std::string_view word) {
  const auto& words = launch_words();
  const auto found = std::find(words.begin(), words.end(), word);
  const auto mode = static_cast<LaunchMode>(found - words.begin());
  if (found != words.end() && mode != LaunchMode::graph_mode && mode != LaunchMode::sink) {
    return mode;
  }
  constexpr const char* simulated = "eager, eager_two_thread or graph_launch";
  throw InfeasibleError(
      fmt::format(
          "launch \"{}\" is not simulated by this version\n  use one of {}", word, simulated),
      "launch mode",
      std::string{word},
      simulated);
}

void apply_launch_mode(LaunchMode mode, Platform& platform) {
  if (mode != LaunchMode::eager_two_thread) return;
  for (Host& host : platform.hosts) host.front_end_thread = true;
}

}  // namespace schedlab
