// SPDX-License-Identifier: Apache-2.0
#include "calibration/micro_sweep.hpp"

#include "calibration/product_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr double step = 1e-2;  // of the logarithm of a parameter, for its derivative

using Row = std::vector<double>;

/// How the logarithm of a predicted time changes with that of each parameter.
std::vector<Row> slopes_of(const MatrixLibrary& library,
                           DataType type,
                           const Device& device,
                           const std::vector<MeasuredProduct>& shapes) {
  const std::vector<double> at = log_parameters(library);
  std::vector<Row> slopes(shapes.size(), Row(at.size()));
  MatrixLibrary moved = library;
  for (std::size_t j = 0; j < at.size(); ++j) {
    std::vector<double> there = at;
    there[j] -= step;  // downwards: efficiencies and shares end at 1
    set_log_parameters(there, moved);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      slopes[i][j] = std::log(product_us(library, shapes[i], type, device) /
                              product_us(moved, shapes[i], type, device)) /
                     step;
    }
  }
  return slopes;
}

Row times(const std::vector<Row>& matrix, const Row& vector) {
  Row result(vector.size());
  for (std::size_t i = 0; i < vector.size(); ++i) {
    for (std::size_t j = 0; j < vector.size(); ++j) result[i] += matrix[i][j] * vector[j];
  }
  return result;
}

double dot(const Row& a, const Row& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

std::vector<MeasuredProduct> sweep_candidates() {
  std::vector<MeasuredProduct> shapes;
  for (const int m : {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    for (int n = 256; n <= 16384; n *= 2) {
      for (int k = 256; k <= 16384; k *= 2) {
        shapes.push_back({.m = m, .n = n, .k = k, .us = 0, .use = RowUse::fit});
      }
    }
  }
  return shapes;
}

std::vector<MeasuredProduct> micro_sweep(const MatrixLibrary& library,
                                         DataType type,
                                         const Device& device,
                                         const std::vector<MeasuredProduct>& candidates,
                                         std::size_t count) {
  const std::vector<Row> slopes = slopes_of(library, type, device, candidates);
  const std::vector<double> widths = prior_widths(library);
  std::vector<Row> covariance(widths.size(), Row(widths.size()));
  for (std::size_t j = 0; j < widths.size(); ++j) covariance[j][j] = widths[j] * widths[j];
  std::vector<MeasuredProduct> chosen;
  std::vector<bool> taken(candidates.size());
  while (chosen.size() < std::min(count, candidates.size())) {
    std::size_t best = 0;
    double most = -1.0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const double variance = dot(slopes[i], times(covariance, slopes[i]));
      if (variance <= most) continue;
      most = variance;
      best = i;
    }
    taken[best] = true;
    chosen.push_back(candidates[best]);
    const Row along = times(covariance, slopes[best]);
    for (std::size_t i = 0; i < along.size(); ++i) {
      for (std::size_t j = 0; j < along.size(); ++j) {
        covariance[i][j] -= along[i] * along[j] / (row_scatter * row_scatter + most);
      }
    }
  }
  return chosen;
}

std::vector<MeasuredProduct> micro_sweep_of(const MachineSpec& machine,
                                            DataType type,
                                            std::size_t count) {
  return micro_sweep(pipelined_library_of(machine, type),
                     type,
                     machine.platform.devices[DeviceId{0}],
                     sweep_candidates(),
                     count);
}

std::string micro_sweep_csv(const std::vector<MeasuredProduct>& shapes, DataType type) {
  std::string text = "kind,type,m,n,k\n";
  for (const MeasuredProduct& shape : shapes) {
    text += fmt::format("gemm,{},{},{},{}\n", to_string(type), shape.m, shape.n, shape.k);
  }
  return text;
}

}  // namespace schedlab
