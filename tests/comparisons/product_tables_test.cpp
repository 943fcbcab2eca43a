// SPDX-License-Identifier: Apache-2.0
// Products of A100, H100, H200 and B200 as published by ai-dynamo/aiconfigurator, held-out rows.
#include "calibration/product_fit.hpp"
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

}  // namespace

TEST_CASE("the shipped machines predict held-out products of published tables") {
  for (const Goal& goal : {Goal{"a100", 0.050, 0.17},
                           Goal{"h100", 0.045, 0.13},
                           Goal{"h200", 0.050, 0.14},
                           Goal{"b200", 0.055, 0.145}}) {
    const auto file =
        testing::reference_data(fmt::format("aiconfigurator/{}_gemm_bf16.csv.gz", goal.machine));
    if (!file) return;
    const Device device = load_machine(goal.machine).platform.devices[DeviceId{0}];
    REQUIRE(device.profile != nullptr);
    const RegionError error = error_of(device.profile->libraries.back(), held_out(*file), device);
    MESSAGE(goal.machine, ": median ", 100 * error.median, " %, p90 ", 100 * error.p90, " %");
    CHECK(error.median < goal.median);
    CHECK(error.p90 < goal.p90);
  }
}

TEST_CASE("products carried over from A100 and H100 predict H200 and B200") {
  const std::vector<MachineSpec> known{load_machine("a100"), load_machine("h100")};
  for (const Goal& goal : {Goal{"h200", 0.055, 0.15}, Goal{"b200", 0.095, 0.225}}) {
    const auto file =
        testing::reference_data(fmt::format("aiconfigurator/{}_gemm_bf16.csv.gz", goal.machine));
    if (!file) return;
    const Device device = load_machine(goal.machine).platform.devices[DeviceId{0}];
    const RegionError error =
        error_of(transferred_products(known, device, DataType::bf16), held_out(*file), device);
    MESSAGE(goal.machine, ": median ", 100 * error.median, " %, p90 ", 100 * error.p90, " %");
    CHECK(error.median < goal.median);
    CHECK(error.p90 < goal.p90);
  }
}

}  // namespace schedlab
