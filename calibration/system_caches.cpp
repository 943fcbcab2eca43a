// SPDX-License-Identifier: Apache-2.0
#include "calibration/system_caches.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
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

SystemCaches system_caches(const std::filesystem::path& folder) {
  std::map<std::int64_t, Bytes> levels;
  std::error_code none;
  for (int i = 0;; ++i) {
    const std::filesystem::path cache = folder / fmt::format("index{}", i);
    if (!std::filesystem::exists(cache / "level", none)) break;
    if (first_word(cache / "type") == "Instruction") continue;
    levels[bytes_of(first_word(cache / "level"))] = Bytes{bytes_of(first_word(cache / "size"))};
  }
  SystemCaches caches;
  if (!levels.empty()) caches.last = levels.rbegin()->second;
  if (levels.size() > 1) caches.unit = std::next(levels.rbegin())->second;
  return caches;
}

}  // namespace schedlab
