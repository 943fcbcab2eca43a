// SPDX-License-Identifier: Apache-2.0
// Products of A100, H100, H200 and B200 as published by ai-dynamo/aiconfigurator, held-out rows.
#include "calibration/product_errors.hpp"
#include "calibration/product_transfer.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace schedlab {
namespace {

/// The rows of a machine's table that took no part in its fit.
std::vector<MeasuredProduct> held_out(const std::string& file) {
  const OperatorTable table = OperatorTable::read(file);
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) rows.push_back({&table, i});
  std::vector<MeasuredProduct> products = products_of(rows);
  std::erase_if(products, [](const MeasuredProduct& one) { return one.use != RowUse::report; });
  return products;
}

RegionError error_of(const MatrixLibrary& library,
                     const std::vector<MeasuredProduct>& products,
                     const Device& device) {
  RegionErrors errors;
  for (const MeasuredProduct& product : products) {
    errors.add(product_us(library, product, DataType::bf16, device), product.us);
  }
  return errors.summary("report");
}

struct Goal {
  const char* machine;
  double median;  ///< reached, rounded up (docs/external_comparisons.md)
  double p90;
};

void check_goal(const Goal& goal, const RegionError& error) {
  MESSAGE(fmt::format("{}, {}: median {:.2f} %, nine of ten below {:.2f} %",
                      goal.machine,
                      error.region,
                      100 * error.median,
                      100 * error.p90));
  CHECK(error.median < goal.median);
  CHECK(error.p90 < goal.p90);
}

/// The share of rows within the intervals, over all regions.
double held(const std::vector<IntervalCoverage>& coverage) {
  double rows = 0;
  double within = 0;
  for (const IntervalCoverage& one : coverage) {
    MESSAGE(one.region, ": ", one.low, " to ", one.high, " hold ", 100 * one.covered, " %");
    rows += static_cast<double>(one.rows);
    within += one.covered * static_cast<double>(one.rows);
  }
  return rows > 0 ? within / rows : 0;
}

}  // namespace

TEST_CASE("the shipped machines predict held-out products of published tables") {
  struct Goals {
    Goal model;
    Goal measured;
  };
  for (const auto& [model, measured] : {Goals{{"a100", 0.047, 0.157}, {"a100", 0.029, 0.089}},
                                        Goals{{"h100", 0.042, 0.122}, {"h100", 0.023, 0.085}},
                                        Goals{{"h200", 0.047, 0.130}, {"h200", 0.021, 0.073}},
                                        Goals{{"b200", 0.053, 0.144}, {"b200", 0.029, 0.091}}}) {
    const auto file =
        testing::reference_data(fmt::format("aiconfigurator/{}_gemm_bf16.csv.gz", model.machine));
    if (!file) return;
    const MachineSpec machine = load_machine(model.machine);
    const Device& device = machine.platform.devices[DeviceId{0}];
    const MatrixLibrary& library = pipelined_library_of(machine, DataType::bf16);
    const std::vector<MeasuredProduct> products = held_out(*file);
    check_goal(model, error_of(library, products, device));
    RegionErrors errors;
    for (const MeasuredProduct& product : products) {
      errors.add(measured_product_us(library, product, DataType::bf16, device), product.us);
    }
    check_goal(measured, errors.summary("products measured"));
    const double share = held(product_coverage(products, library, DataType::bf16, device));
    CHECK(share == doctest::Approx(product_interval_coverage).epsilon(0.03));
  }
}

TEST_CASE("products carried over from A100 and H100 predict H200 and B200") {
  const std::vector<MachineSpec> known{load_machine("a100"), load_machine("h100")};
  for (const Goal& goal : {Goal{"h200", 0.047, 0.135}, Goal{"b200", 0.083, 0.21}}) {
    const auto file =
        testing::reference_data(fmt::format("aiconfigurator/{}_gemm_bf16.csv.gz", goal.machine));
    if (!file) return;
    const Device device = load_machine(goal.machine).platform.devices[DeviceId{0}];
    const MatrixLibrary library = transferred_products(known, device, DataType::bf16);
    const std::vector<MeasuredProduct> products = held_out(*file);
    check_goal(goal, error_of(library, products, device));
    const double share = held(product_coverage(products, library, DataType::bf16, device));
    MESSAGE(fmt::format("{}: transferred intervals hold {:.1f} %", goal.machine, 100 * share));
    CHECK(share > 0.85);
  }
}

}  // namespace schedlab
