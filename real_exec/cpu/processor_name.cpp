// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/processor_name.hpp"

#include <cstddef>
#include <fstream>

namespace schedlab {

std::string processor_name() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    return begin == std::string::npos ? "CPU" : line.substr(begin);
  }
  return "CPU";
}

}  // namespace schedlab
