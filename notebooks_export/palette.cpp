// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

namespace schedlab {

namespace {

using namespace okabe_ito;

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> fixed_colors{{
    {"cell", vermillion},
    {"hidden_1", blue},
    {"hidden_2", sky_blue},
    {"weight_1", green},
    {"weight_2", yellow},
    {"weight_1_k_major", green},
    {"weight_2_k_major", yellow},
    {"cell_forward", orange},
    {"recurrent_gemm", "#003F66"},
    {"input_gemm", "#A9D9F5"},
    {"update", purple},
    {"reduce", "#8A3F6A"},
    {"reduce_1", "#8A3F6A"},
    {"reduce_2", "#8C3D00"},
    {"transfer", grey},
    {"node", blue},
    {"data_node", blue},
    {"node_forward", sky_blue},
    {"gemm", blue},
    {"pointwise", vermillion},
}};

/// The palette, then lighter and darker relatives for long lists.
constexpr std::array<std::string_view, 16> wheel{blue,
                                                 orange,
                                                 green,
                                                 purple,
                                                 sky_blue,
                                                 vermillion,
                                                 yellow,
                                                 grey,
                                                 "#003F66",
                                                 "#8F6300",
                                                 "#00543D",
                                                 "#8A3F6A",
                                                 "#A9D9F5",
                                                 "#8C3D00",
                                                 "#A39A00",
                                                 "#555555"};

/// FNV-1a: equal on every machine, unlike std::hash.
[[nodiscard]] std::uint32_t hash_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

std::map<std::string, std::string> operation_colors(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::string> colors;
  std::set<std::string_view> taken;
  for (const std::string& name : names) {
    const auto entry = std::find_if(fixed_colors.begin(),
                                    fixed_colors.end(),
                                    [&name](const auto& item) { return item.first == name; });
    if (entry == fixed_colors.end() || taken.contains(entry->second)) continue;
    colors[name] = entry->second;
    taken.insert(entry->second);
  }
  for (const std::string& name : names) {
    if (colors.contains(name)) continue;
    const std::size_t first = hash_of(name) % wheel.size();
    std::size_t step = 0;
    while (step < wheel.size() && taken.contains(wheel[(first + step) % wheel.size()])) ++step;
    const std::string_view color = wheel[(first + step) % wheel.size()];
    colors[name] = color;
    taken.insert(color);
  }
  return colors;
}

std::string_view series_color(std::size_t index) {
  // Yellow lines cannot be seen on white, so it is not among them.
  constexpr std::array<std::string_view, 8> order{
      blue, vermillion, green, orange, purple, sky_blue, "#000000", grey};
  return order[index % order.size()];
}

std::string diverging_color(double place) {
  constexpr std::array<std::array<double, 3>, 2> ends{{{0x00, 0x72, 0xB2}, {0xD5, 0x5E, 0x00}}};
  const auto& end = ends[place < 0 ? 0 : 1];
  const double share = std::min(std::abs(place), 1.0);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb[i] = static_cast<int>(std::lround(255 + share * (end[i] - 255)));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

std::string_view readable_on(std::string_view background) {
  std::uint32_t rgb = 0;
  std::from_chars(background.data() + 1, background.data() + background.size(), rgb, 16);
  const double red = (rgb >> 16U) & 0xFFU;
  const double green_part = (rgb >> 8U) & 0xFFU;
  const double blue_part = rgb & 0xFFU;
  // Relative luminance, weights of ITU-R BT.709.
  const double luminance = 0.2126 * red + 0.7152 * green_part + 0.0722 * blue_part;
  return luminance > 115 ? "#000000" : "#ffffff";
}

}  // namespace schedlab
