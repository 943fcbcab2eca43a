// SPDX-License-Identifier: Apache-2.0
#include "calibration/product_fit.hpp"

#include "calibration/model_fit.hpp"
#include "calibration/product_errors.hpp"
#include "calibration/product_transfer.hpp"
#include "hw_models/residual_fit.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t first_rows = 2000;  // that a fit starts with
constexpr std::size_t max_rows = 5000;  // that it ends with: more move no parameter by its interval
// Residuals beyond 4 % count by size // assumed
const ModelFitOptions first_fit{.loss_scale = 0.04, .iterations = 40, .rounds = 1};
const ModelFitOptions last_fit{.loss_scale = 0.04, .iterations = 8, .rounds = 1};
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

/// Of the library's parameters, then of its tiles' efficiencies.
std::vector<ParameterInfo> infos_of(const MatrixLibrary& library) {
  const auto known = product_parameters();
  std::vector<ParameterInfo> infos{known.begin(), known.end()};
  infos.resize(infos.size() + library.tiles.size(),
               {"efficiency", least_efficiency, 1, first_efficiency, "of a tile"});
  return infos;
}

std::vector<double> values_of(const MatrixLibrary& library) {
  std::vector<double> values;
  for (const FittedValue& value : library.pipelined->values) values.push_back(value.value);
  for (const GemmTile& tile : library.tiles) values.push_back(tile.efficiency);
  return values;
}

void set_parameters(const FittedParameters& fitted, MatrixLibrary& library) {
  const auto tiles = fitted.values.begin() + product_parameter_count;
  std::copy(fitted.values.begin(), tiles, library.pipelined->values.begin());
  library.pipelined->efficiencies.assign(tiles, fitted.values.end());
  for (std::size_t i = 0; i < library.tiles.size(); ++i) {
    library.tiles[i].efficiency = library.pipelined->efficiencies[i].value;
  }
}

PipelinedChoice choice_of(const MatrixLibrary& library,
                          const ProductShape& shape,
                          const PipelinedDevice& on) {
  return choose_pipelined(*library.pipelined, library.tiles, shape, on, most_parts);
}

double us_of(const MatrixLibrary& library,
             const Kernel& kernel,
             const PipelinedDevice& on,
             OperandReading reading) {
  return choice_of(library, product_shape(kernel, *library.pipelined, on, reading), on).time.us;
}

/// Moves a library to where its residuals on the products are least, and notes the intervals.
void fit_library(const std::vector<MeasuredProduct>& products,
                 DataType type,
                 const PipelinedDevice& on,
                 OperandReading reading,
                 const ModelFitOptions& options,
                 MatrixLibrary& library) {
  std::vector<Kernel> kernels;
  std::vector<double> measured;
  for (const MeasuredProduct& product : products) {
    kernels.push_back(kernel_of(product, type));
    measured.push_back(product.us);
  }
  MatrixLibrary tried = library;
  const auto predict = [&](const FittedParameters& fitted, std::size_t row) {
    if (row == 0) set_parameters(fitted, tried);  // rows are asked for in order
    return us_of(tried, kernels[row], on, reading);
  };
  const ModelFit fit =
      fit_model(infos_of(library), {values_of(library)}, measured, predict, options);
  set_parameters(fit.parameters, library);
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
    ++chosen[choice_of(library, shape, on).tile];
  }
  std::vector<GemmTile> kept;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (static_cast<double>(chosen[i]) >= chosen_share * static_cast<double>(products.size())) {
      kept.push_back(library.tiles[i]);
    }
  }
  library.tiles = std::move(kept);
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
      product_error(products, own, fit.type, device, OperandReading::as_measured, "before"));
  fit.used.push_back(
      product_error(products, library, fit.type, device, OperandReading::as_measured, "refined"));
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
  refined.pipelined->residuals.clear();  // they are of what is moved
  ModelFitOptions held = first_fit;
  held.prior = prior_widths(library);
  held.row_scatter = row_scatter;
  fit_library(products,
              type,
              pipelined_device(device, type, units_of(device)),
              OperandReading::as_measured,
              held,
              refined);
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

double measured_product_us(const MatrixLibrary& library,
                           const MeasuredProduct& product,
                           DataType type,
                           const Device& device) {
  const PipelinedDevice on = pipelined_device(device, type, units_of(device));
  const ProductShape shape =
      product_shape(kernel_of(product, type), *library.pipelined, on, OperandReading::as_measured);
  const PipelinedChoice choice = choice_of(library, shape, on);
  return choice.time.us *
         residual_factor(library.pipelined->residuals, residual_place(shape, choice, on));
}

std::vector<ResidualTree> fit_product_residuals(const MatrixLibrary& library,
                                                const std::vector<MeasuredProduct>& products,
                                                DataType type,
                                                const Device& device) {
  const PipelinedDevice on = pipelined_device(device, type, units_of(device));
  std::vector<ResidualRow> rows;
  for (const MeasuredProduct& product : products) {
    if (product.use == RowUse::report) continue;
    const ProductShape shape = product_shape(
        kernel_of(product, type), *library.pipelined, on, OperandReading::as_measured);
    const PipelinedChoice choice = choice_of(library, shape, on);
    rows.push_back({residual_place(shape, choice, on), std::log(product.us / choice.time.us)});
  }
  return fit_residuals(rows);
}

MatrixLibrary fit_products(const std::vector<MeasuredProduct>& products,
                           DataType type,
                           const Device& device,
                           OperandReading reading) {
  const std::vector<MeasuredProduct> rows = with_use(products, RowUse::fit);
  if (rows.size() < min_fitted_products) {
    throw InfeasibleError(fmt::format(
        "{} products to fit, at least {} are needed", rows.size(), min_fitted_products));
  }
  const PipelinedDevice on = pipelined_device(device, type, units_of(device));
  MatrixLibrary library;
  library.pipelined.emplace();
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    library.pipelined->values[i].value = product_parameters()[i].start;
  }
  for (const auto& [m, n] : tile_sides) {
    library.tiles.push_back({.m = m, .n = n, .efficiency = first_efficiency});
  }
  fit_library(spread(rows, first_rows), type, on, reading, first_fit, library);
  drop_unused_tiles(rows, type, on, reading, library);
  fit_library(spread(rows, max_rows), type, on, reading, last_fit, library);
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
  const MatrixLibrary* const own = pipelined_library(device, type);
  if (own != nullptr && with_use(products, RowUse::fit).size() < min_fitted_products) {
    return refine_machine(products, MatrixLibrary{*own}, std::move(fit), options, machine);
  }
  MatrixLibrary library;
  for (const OperandReading reading :
       {OperandReading::as_measured, OperandReading::warm, OperandReading::cold}) {
    options.progress(fmt::format("products, operands {}", to_string(reading)));
    MatrixLibrary tried = fit_products(products, type, device, reading);
    fit.readings.push_back(
        product_error(choosing, tried, type, device, reading, std::string{to_string(reading)}));
    if (reading == OperandReading::as_measured) library = std::move(tried);
  }
  const auto used = [&](RowUse use, const char* name) {
    fit.used.push_back(product_error(
        with_use(products, use), library, type, device, OperandReading::as_measured, name));
  };
  used(RowUse::fit, "fitted");
  used(RowUse::choose, "choosing");
  library.pipelined->residuals = fit_product_residuals(library, products, type, device);
  library.pipelined->intervals = product_intervals(choosing, library, type, device);
  const std::vector<MeasuredProduct> held_out = with_use(products, RowUse::report);
  fit.report = product_errors(held_out, library, type, device);
  fit.cells = product_error_cells(held_out, library, type, device);
  fit.coverage = product_coverage(held_out, library, type, device);
  library.name = fmt::format("products of {}", fit.tables);
  library.types = {type};
  library.source = fit_origin(fit, options);
  set_library(machine, std::move(library));
  return fit;
}

}  // namespace schedlab
