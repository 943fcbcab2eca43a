// SPDX-License-Identifier: Apache-2.0
#include "calibration/micro_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>

namespace schedlab {
namespace {

constexpr double base = 1.22074408460575947536;  // root of x^4 = x + 1
constexpr std::array<std::int64_t, 10> rows{1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::array<std::int64_t, 7> sides{256, 512, 1024, 2048, 4096, 8192, 16384};

/// Of the values, the one that member `i` of the sequence takes in dimension 1, 2 or 3.
template <std::size_t Count>
std::int64_t taken(const std::array<std::int64_t, Count>& values, std::size_t i, int dimension) {
  const double at = 0.5 + static_cast<double>(i + 1) * std::pow(base, -dimension);
  return values[static_cast<std::size_t>((at - std::floor(at)) * Count)];
}

}  // namespace

std::vector<MeasuredProduct> micro_sweep(std::size_t count) {
  constexpr std::size_t all = rows.size() * sides.size() * sides.size();
  std::vector<MeasuredProduct> shapes;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> known;
  for (std::size_t i = 0; shapes.size() < std::min(count, all); ++i) {
    const MeasuredProduct shape{.m = taken(rows, i, 1),
                                .n = taken(sides, i, 2),
                                .k = taken(sides, i, 3),
                                .us = 0,
                                .use = RowUse::fit};
    if (known.emplace(shape.m, shape.n, shape.k).second) shapes.push_back(shape);
  }
  return shapes;
}

std::string micro_sweep_csv(const std::vector<MeasuredProduct>& shapes, DataType type) {
  std::string text = "kind,type,m,n,k\n";
  for (const MeasuredProduct& shape : shapes) {
    text += fmt::format("gemm,{},{},{},{}\n", to_string(type), shape.m, shape.n, shape.k);
  }
  return text;
}

}  // namespace schedlab
