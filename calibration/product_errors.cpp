// SPDX-License-Identifier: Apache-2.0
#include "calibration/product_errors.hpp"

#include "calibration/model_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array<std::int64_t, 4> interval_rows{64, 512, 4096, 1'000'000'000};

/// Sizes up to `last` that are more than those of the band before.
struct Band {
  std::int64_t last;
  std::string_view name;
};
constexpr std::array<Band, 7> row_bands{{{4, "m 1-4"},
                                         {16, "5-16"},
                                         {64, "17-64"},
                                         {257, "65-257"},
                                         {1025, "258-1025"},
                                         {4353, "1026-4353"},
                                         {INT64_MAX, "more"}}};
constexpr std::array<Band, 6> depth_bands{{{128, "k 1-128"},
                                           {768, "129-768"},
                                           {2048, "769-2048"},
                                           {4096, "2049-4096"},
                                           {16384, "4097-16384"},
                                           {INT64_MAX, "more"}}};

template <std::size_t Count>
std::size_t band_of(const std::array<Band, Count>& bands, std::int64_t size) {
  const auto found =
      std::find_if(bands.begin(), bands.end(), [&](const Band& band) { return size <= band.last; });
  return static_cast<std::size_t>(found - bands.begin());
}

}  // namespace

RegionError product_error(const std::vector<MeasuredProduct>& products,
                          const MatrixLibrary& library,
                          DataType type,
                          const Device& device,
                          OperandReading reading,
                          std::string region) {
  RegionErrors errors;
  for (const MeasuredProduct& product : products) {
    errors.add(product_us(library, product, type, device, reading), product.us);
  }
  return errors.summary(std::move(region));
}

std::vector<RegionError> product_errors(const std::vector<MeasuredProduct>& products,
                                        const MatrixLibrary& library,
                                        DataType type,
                                        const Device& device) {
  struct Region {
    std::string name;
    std::function<bool(const MeasuredProduct&)> holds;
    RegionErrors errors{};
  };
  const auto rows = [](std::int64_t from, std::int64_t to) {
    return [from, to](const MeasuredProduct& p) { return p.m >= from && p.m <= to; };
  };
  const auto time = [](double from, double to) {
    return [from, to](const MeasuredProduct& p) { return p.us >= from && p.us < to; };
  };
  std::vector<Region> regions{{"all", [](const MeasuredProduct&) { return true; }},
                              {"m up to 64", rows(0, 64)},
                              {"m 65 to 512", rows(65, 512)},
                              {"m 513 to 4096", rows(513, 4096)},
                              {"m above 4096", rows(4097, INT64_MAX)},
                              {"under 8 us", time(0, 8)},
                              {"8 to 30 us", time(8, 30)},
                              {"30 to 200 us", time(30, 200)},
                              {"200 us and more", time(200, 1e18)}};
  std::array<RegionErrors, 2> measured;  // of the first two regions
  for (const MeasuredProduct& product : products) {
    const double predicted = product_us(library, product, type, device);
    for (Region& region : regions) {
      if (region.holds(product)) region.errors.add(predicted, product.us);
    }
    const double with_residuals = measured_product_us(library, product, type, device);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (regions[i].holds(product)) measured[i].add(with_residuals, product.us);
    }
  }
  std::vector<RegionError> errors;
  for (const Region& region : regions) errors.push_back(region.errors.summary(region.name));
  for (std::size_t i = 0; i < measured.size(); ++i) {
    errors.push_back(measured[i].summary(regions[i].name + ", products measured"));
  }
  return errors;
}

std::vector<ErrorCell> product_error_cells(const std::vector<MeasuredProduct>& products,
                                           const MatrixLibrary& library,
                                           DataType type,
                                           const Device& device) {
  std::array<std::array<std::vector<double>, depth_bands.size()>, row_bands.size()> ratios;
  for (const MeasuredProduct& product : products) {
    ratios[band_of(row_bands, product.m)][band_of(depth_bands, product.k)].push_back(
        product.us / product_us(library, product, type, device));
  }
  std::vector<ErrorCell> cells;
  for (std::size_t up = 0; up < row_bands.size(); ++up) {
    for (std::size_t across = 0; across < depth_bands.size(); ++across) {
      const std::vector<double>& found = ratios[up][across];
      if (found.empty()) continue;
      std::vector<double> factors;
      for (const double ratio : found) factors.push_back(std::max(ratio, 1.0 / ratio));
      cells.push_back({.across = std::string{depth_bands[across].name},
                       .up = std::string{row_bands[up].name},
                       .rows = found.size(),
                       .median = quantile(found, 0.5),
                       .spread = quantile(factors, product_interval_coverage)});
    }
  }
  return cells;
}

std::vector<ProductInterval> product_intervals(const std::vector<MeasuredProduct>& products,
                                               const MatrixLibrary& library,
                                               DataType type,
                                               const Device& device) {
  constexpr double beyond = (1.0 - product_interval_coverage) / 2;
  constexpr std::size_t fewest = 40;  // of which one or two lie beyond either end
  std::vector<ProductInterval> intervals;
  std::int64_t above = 0;
  std::vector<double> ratios;
  for (const std::int64_t rows : interval_rows) {
    for (const MeasuredProduct& product : products) {
      if (product.m <= above || product.m > rows) continue;
      ratios.push_back(product.us / product_us(library, product, type, device));
    }
    above = rows;
    if (ratios.size() < fewest) continue;  // counted with the next region
    intervals.push_back({static_cast<double>(rows),
                         four_digits(quantile(ratios, beyond)),
                         four_digits(quantile(ratios, 1.0 - beyond))});
    ratios.clear();
  }
  return intervals;
}

std::vector<IntervalCoverage> product_coverage(const std::vector<MeasuredProduct>& products,
                                               const MatrixLibrary& library,
                                               DataType type,
                                               const Device& device) {
  std::vector<IntervalCoverage> coverage;
  double above = 0;
  for (const ProductInterval& interval : library.pipelined->intervals) {
    IntervalCoverage one{.region = fmt::format("m above {}", above),
                         .low = interval.low,
                         .high = interval.high,
                         .promised = product_interval_coverage};
    std::size_t within = 0;
    for (const MeasuredProduct& product : products) {
      const auto m = static_cast<double>(product.m);
      if (m <= above || m > interval.rows) continue;
      ++one.rows;
      const double ratio = product.us / product_us(library, product, type, device);
      if (ratio >= interval.low && ratio <= interval.high) ++within;
    }
    above = interval.rows;
    if (one.rows == 0) continue;
    one.covered = static_cast<double>(within) / static_cast<double>(one.rows);
    coverage.push_back(one);
  }
  return coverage;
}

}  // namespace schedlab
