// SPDX-License-Identifier: Apache-2.0
#include "calibration/product_fit.hpp"

#include "calibration/product_transfer.hpp"
#include "hw_models/robust_fit.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

namespace schedlab {
namespace {

using Bounds = std::vector<std::pair<double, double>>;

constexpr std::size_t first_rows = 2000;  // that a fit starts with
constexpr std::size_t most_rows =
    5000;  // that it ends with: more move no parameter by its interval
constexpr int first_iterations = 40;
constexpr int last_iterations = 8;
constexpr double loss_scale = 0.04;  // residuals beyond count by size // assumed
constexpr double least_efficiency = 0.05;
constexpr double first_efficiency = 0.65;
constexpr double chosen_share = 0.003;  // of the rows, below which a tile is left out
constexpr std::int64_t most_parts = 16;

/// Tiles of public kernels for tensor cores (NVIDIA/cutlass, default tiles of its generators).
constexpr std::array<std::pair<int, int>, 8> tile_sides{
    {{128, 256}, {128, 128}, {64, 256}, {64, 128}, {64, 64}, {32, 128}, {32, 64}, {32, 32}}};

Kernel kernel_of(const MeasuredProduct& product, DataType type) {
  return gemm_kernel(product.m, product.n, product.k, type, false);
}

std::int64_t units_of(const Device& device) {
  if (device.rates.matrix_units == 0) {
    throw InfeasibleError(
        fmt::format("device \"{}\" has no count of the units that products run on", device.name));
  }
  return device.rates.matrix_units;
}

Bounds bounds_of(const MatrixLibrary& library) {
  Bounds bounds;
  for (const ProductParameterInfo& info : product_parameters()) {
    bounds.emplace_back(std::log(info.minimum), std::log(info.maximum));
  }
  bounds.resize(bounds.size() + library.tiles.size(), {std::log(least_efficiency), 0.0});
  return bounds;
}

double us_of(const MatrixLibrary& library,
             const Kernel& kernel,
             const PipelinedDevice& on,
             OperandReading reading) {
  const ProductShape shape = product_shape(kernel, *library.pipelined, on, reading);
  return choose_pipelined(*library.pipelined, library.tiles, shape, on, most_parts).time.us;
}

/// Moves a library to where its residuals on the products are least, and notes the intervals.
/// `prior`: standard deviations that hold it to where it starts; empty: none.
void fit_library(const std::vector<MeasuredProduct>& products,
                 DataType type,
                 const PipelinedDevice& on,
                 OperandReading reading,
                 int iterations,
                 MatrixLibrary& library,
                 const std::vector<double>& prior = {}) {
  std::vector<Kernel> kernels;
  for (const MeasuredProduct& product : products) kernels.push_back(kernel_of(product, type));
  MatrixLibrary tried = library;
  const std::vector<double> start = log_parameters(library);
  const ResidualsAt residuals = [&](const std::vector<double>& logs, std::vector<double>& out) {
    set_log_parameters(logs, tried);
    out.resize(products.size() + prior.size());
    for (std::size_t i = 0; i < products.size(); ++i) {
      out[i] = std::log(us_of(tried, kernels[i], on, reading) / products[i].us);
    }
    for (std::size_t j = 0; j < prior.size(); ++j) {
      out[products.size() + j] = row_scatter * (logs[j] - start[j]) / prior[j];
    }
  };
  const RobustFit fit = fit_robustly(residuals, start, bounds_of(library), loss_scale, iterations);
  set_log_parameters(fit.values, library);
  const auto note = [&](FittedValue& value, std::size_t at) {
    value = {std::exp(fit.values[at]),
             std::exp(fit.intervals[at].first),
             std::exp(fit.intervals[at].second)};
  };
  for (std::size_t i = 0; i < product_parameter_count; ++i) note(library.pipelined->values[i], i);
  library.pipelined->efficiencies.resize(library.tiles.size());
  for (std::size_t i = 0; i < library.tiles.size(); ++i) {
    note(library.pipelined->efficiencies[i], product_parameter_count + i);
  }
}

void drop_unused_tiles(const std::vector<MeasuredProduct>& products,
                       DataType type,
                       const PipelinedDevice& on,
                       OperandReading reading,
                       MatrixLibrary& library) {
  std::vector<std::size_t> chosen(library.tiles.size());
  for (const MeasuredProduct& product : products) {
    const ProductShape shape =
        product_shape(kernel_of(product, type), *library.pipelined, on, reading);
    ++chosen[choose_pipelined(*library.pipelined, library.tiles, shape, on, most_parts).tile];
  }
  std::vector<GemmTile> kept;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (static_cast<double>(chosen[i]) >= chosen_share * static_cast<double>(products.size())) {
      kept.push_back(library.tiles[i]);
    }
  }
  library.tiles = std::move(kept);
}

double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

void round_all(MatrixLibrary& library) {
  const auto round = [](FittedValue& value) {
    value = {rounded(value.value), rounded(value.low), rounded(value.high)};
  };
  for (FittedValue& value : library.pipelined->values) round(value);
  for (std::size_t i = 0; i < library.tiles.size(); ++i) {
    round(library.pipelined->efficiencies[i]);
    library.tiles[i].efficiency = library.pipelined->efficiencies[i].value;
  }
}

/// At most so many of the rows, evenly from all of the table.
std::vector<MeasuredProduct> spread(const std::vector<MeasuredProduct>& rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  std::vector<MeasuredProduct> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(rows[i * rows.size() / most]);
  return some;
}

std::vector<MeasuredProduct> with_use(const std::vector<MeasuredProduct>& products, RowUse use) {
  std::vector<MeasuredProduct> found;
  for (const MeasuredProduct& product : products) {
    if (product.use == use) found.push_back(product);
  }
  return found;
}

RegionError error_on(const std::vector<MeasuredProduct>& products,
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

/// Regions of shapes by rows of A and by length of time.
std::vector<RegionError> errors_by_region(const std::vector<MeasuredProduct>& products,
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
                              {"m above 4096", rows(4097, std::int64_t{1} << 60)},
                              {"under 8 us", time(0, 8)},
                              {"8 to 30 us", time(8, 30)},
                              {"30 to 200 us", time(30, 200)},
                              {"200 us and more", time(200, 1e18)}};
  for (const MeasuredProduct& product : products) {
    const double predicted = product_us(library, product, type, device);
    for (Region& region : regions) {
      if (region.holds(product)) region.errors.add(predicted, product.us);
    }
  }
  std::vector<RegionError> errors;
  for (const Region& region : regions) errors.push_back(region.errors.summary(region.name));
  return errors;
}

/// The pipelined library of the machine for a type; nullptr if it has none.
const MatrixLibrary* library_for(const Device& device, DataType type) {
  if (device.profile == nullptr) return nullptr;
  for (const MatrixLibrary& library : device.profile->libraries) {
    const auto& types = library.types;
    if (library.pipelined && std::find(types.begin(), types.end(), type) != types.end()) {
      return &library;
    }
  }
  return nullptr;
}

/// Refines the machine's own library by a table of few rows.
OperatorFit refine_machine(const std::vector<MeasuredProduct>& products,
                           const MatrixLibrary& own,
                           OperatorFit fit,
                           const TableOptions& options,
                           MachineSpec& machine) {
  const Device device = machine.platform.devices[DeviceId{0}];
  options.progress("products, the machine's own library refined");
  MatrixLibrary library = refine_products(own, products, fit.type, device);
  fit.used.push_back(
      error_on(products, own, fit.type, device, OperandReading::as_measured, "before"));
  fit.used.push_back(
      error_on(products, library, fit.type, device, OperandReading::as_measured, "refined"));
  library.assumed = false;
  library.source = fmt::format("{}, {} {}, {}: {}; {} rows refine: {}",
                               fit.tables,
                               to_string(fit.type),
                               fit.kind,
                               options.date,
                               options.command,
                               products.size(),
                               own.name);
  set_library(machine, std::move(library));
  return fit;
}

}  // namespace

std::vector<double> log_parameters(const MatrixLibrary& library) {
  std::vector<double> logs;
  for (const FittedValue& value : library.pipelined->values) logs.push_back(std::log(value.value));
  for (const GemmTile& tile : library.tiles) logs.push_back(std::log(tile.efficiency));
  return logs;
}

void set_log_parameters(const std::vector<double>& logs, MatrixLibrary& library) {
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    library.pipelined->values[i].value = std::exp(logs[i]);
  }
  for (std::size_t i = 0; i < library.tiles.size(); ++i) {
    library.tiles[i].efficiency = std::min(1.0, std::exp(logs[product_parameter_count + i]));
  }
}

std::vector<double> prior_widths(const MatrixLibrary& library) {
  constexpr double parameter = 0.5;  // logarithm: parameters of A100 and H100 differ so // assumed
  constexpr double efficiency = 0.15;  // likewise of tiles // assumed
  std::vector<double> widths(product_parameter_count, parameter);
  widths.resize(widths.size() + library.tiles.size(), efficiency);
  return widths;
}

MatrixLibrary refine_products(const MatrixLibrary& library,
                              const std::vector<MeasuredProduct>& products,
                              DataType type,
                              const Device& device) {
  MatrixLibrary refined = library;
  fit_library(products,
              type,
              pipelined_device(device, type, units_of(device)),
              OperandReading::as_measured,
              first_iterations,
              refined,
              prior_widths(library));
  round_all(refined);
  return refined;
}

std::vector<MeasuredProduct> products_of(const std::vector<TableRow>& rows) {
  std::vector<MeasuredProduct> products;
  products.reserve(rows.size());
  for (const TableRow& row : rows) {
    const OperatorTable& table = *row.table;
    const auto side = [&](const char* column) {
      const std::int64_t value = table.whole(row.row, column);
      if (value == 0) table.reject(row.row, column, "0", "a side of at least 1");
      return value;
    };
    MeasuredProduct product{.m = side("m"),
                            .n = side("n"),
                            .k = side("k"),
                            .us = table.microseconds(row.row),
                            .use = RowUse::fit};
    product.use = row_use(fmt::format("{}x{}x{}", product.m, product.n, product.k));
    products.push_back(product);
  }
  return products;
}

double product_us(const MatrixLibrary& library,
                  const MeasuredProduct& product,
                  DataType type,
                  const Device& device,
                  OperandReading reading) {
  return us_of(
      library, kernel_of(product, type), pipelined_device(device, type, units_of(device)), reading);
}

MatrixLibrary fit_products(const std::vector<MeasuredProduct>& products,
                           DataType type,
                           const Device& device,
                           OperandReading reading) {
  const std::vector<MeasuredProduct> rows = with_use(products, RowUse::fit);
  if (rows.size() < fewest_rows) {
    throw InfeasibleError(
        fmt::format("{} products to fit, at least {} are needed", rows.size(), fewest_rows));
  }
  const PipelinedDevice on = pipelined_device(device, type, units_of(device));
  MatrixLibrary library;
  library.pipelined.emplace();
  for (const ProductParameterInfo& info : product_parameters()) {
    library.pipelined->of(info.parameter).value = info.start;
  }
  for (const auto& [m, n] : tile_sides) {
    library.tiles.push_back({.m = m, .n = n, .efficiency = first_efficiency});
  }
  fit_library(spread(rows, first_rows), type, on, reading, first_iterations, library);
  drop_unused_tiles(rows, type, on, reading, library);
  fit_library(spread(rows, most_rows), type, on, reading, last_iterations, library);
  round_all(library);
  return library;
}

OperatorFit calibrate_products(const std::vector<TableRow>& rows,
                               DataType type,
                               const TableOptions& options,
                               MachineSpec& machine) {
  const Device& device = machine.platform.devices[DeviceId{0}];
  const std::vector<MeasuredProduct> products = products_of(rows);
  const std::vector<MeasuredProduct> choosing = with_use(products, RowUse::choose);
  OperatorFit fit{.kind = std::string{to_string(TaskKind::gemm)},
                  .type = type,
                  .tables = file_names(rows),
                  .used = {},
                  .report = {},
                  .readings = {}};
  const MatrixLibrary* const own = library_for(device, type);
  if (own != nullptr && with_use(products, RowUse::fit).size() < fewest_rows) {
    return refine_machine(products, MatrixLibrary{*own}, std::move(fit), options, machine);
  }
  MatrixLibrary library;
  for (const OperandReading reading :
       {OperandReading::as_measured, OperandReading::warm, OperandReading::cold}) {
    options.progress(fmt::format("products, operands {}", to_string(reading)));
    MatrixLibrary tried = fit_products(products, type, device, reading);
    fit.readings.push_back(
        error_on(choosing, tried, type, device, reading, std::string{to_string(reading)}));
    if (reading == OperandReading::as_measured) library = std::move(tried);
  }
  const auto used = [&](RowUse use, const char* name) {
    fit.used.push_back(error_on(
        with_use(products, use), library, type, device, OperandReading::as_measured, name));
  };
  used(RowUse::fit, "fitted");
  used(RowUse::choose, "choosing");
  fit.report = errors_by_region(with_use(products, RowUse::report), library, type, device);
  library.name = fmt::format("products of {}", fit.tables);
  library.types = {type};
  library.source = fit_origin(fit, options);
  set_library(machine, std::move(library));
  return fit;
}

}  // namespace schedlab
