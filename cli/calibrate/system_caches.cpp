// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate/system_caches.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace schedlab {
namespace {

std::string first_word(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// "1024K", "32M"; 0 for what is none.
std::int64_t bytes_of(const std::string& text) {
  std::int64_t number = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && number < (1LL << 40); ++at) {
    number = 10 * number + (text[at] - '0');
  }
  const std::string unit = text.substr(at);
  if (unit == "K") return number << 10;
  if (unit == "M") return number << 20;
  return unit.empty() ? number : 0;
}

}  // namespace

Bytes last_level_cache(const std::filesystem::path& folder) {
  std::int64_t highest = 0;
  Bytes size{0};
  for (int i = 0;; ++i) {
    const std::filesystem::path cache = folder / fmt::format("index{}", i);
    std::error_code none;
    if (!std::filesystem::exists(cache / "level", none)) return size;
    const std::int64_t level = bytes_of(first_word(cache / "level"));
    if (level <= highest || first_word(cache / "type") == "Instruction") continue;
    highest = level;
    size = Bytes{bytes_of(first_word(cache / "size"))};
  }
}

}  // namespace schedlab
