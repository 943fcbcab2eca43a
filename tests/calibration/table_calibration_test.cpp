// SPDX-License-Identifier: Apache-2.0
#include "calibration/table_calibration.hpp"

#include "calibration/micro_sweep.hpp"
#include "calibration/product_fit.hpp"
#include "calibration/product_transfer.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/cost_evidence.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// The library that made the synthetic table.
MatrixLibrary known_library() {
  MatrixLibrary library;
  library.pipelined.emplace();
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    library.pipelined->values[i].value = product_parameters()[i].start;
  }
  library.pipelined->of(ProductParameter::floor_us).value = 3.3;
  library.pipelined->of(ProductParameter::memory_share).value = 0.7;
  library.tiles = {{.m = 128, .n = 256, .efficiency = 0.8}, {.m = 64, .n = 64, .efficiency = 0.5}};
  return library;
}

/// 600 shapes of all sizes with the times of `library`.
std::string table_of(const MatrixLibrary& library, const Device& device) {
  std::string text = "kind,type,m,n,k,us\n";
  for (int i = 0; i < 600; ++i) {
    const MeasuredProduct product{.m = 1 + (i * i * 7) % 4097,
                                  .n = 128 * (1 + (i * 11) % 48),
                                  .k = 64 * (1 + (i * 17) % 64),
                                  .us = 0,
                                  .use = RowUse::fit};
    text += fmt::format("gemm,bf16,{},{},{},{:.4f}\n",
                        product.m,
                        product.n,
                        product.k,
                        product_us(library, product, DataType::bf16, device));
  }
  return text;
}

double value(const MatrixLibrary& library, ProductParameter parameter) {
  return (*library.pipelined)[parameter];
}

}  // namespace

TEST_CASE("a table names its columns; times in ms, other names of types and kinds are understood") {
  const OperatorTable table =
      OperatorTable::parse("m,n,k,latency,data_type\n2,3,4,0.5,half\n", "t");
  CHECK(table.kind(0) == "gemm");
  CHECK(table.type(0) == DataType::fp16);
  CHECK(table.microseconds(0) == 500.0);
  CHECK(OperatorTable::parse("m,n,k,time_us\r\n2,3,4,7\r\n", "t").type(0) == DataType::bf16);
}

TEST_CASE("what is wrong with a table is said with file, line and column") {
  const auto problem = [](const char* text) {
    try {
      const OperatorTable table = OperatorTable::parse(text, "t.csv");
      (void)products_of({{&table, 0}});
    } catch (const InputError& error) {
      return error.problem().file + ": " + error.problem().pointer;
    }
    return std::string{};
  };
  CHECK(problem("m,n,k,us\n") == "t.csv: ");
  CHECK(problem("m,n,k,us\n1,2,3\n") == "t.csv: line 2");
  CHECK(problem("m,n,k,us\n1,x,3,4\n") == "t.csv: line 2, column n");
  CHECK(problem("m,n,k,us\n1,0,3,4\n") == "t.csv: line 2, column n");
  CHECK(problem("m,n,k,us\n1,2,3,-4\n") == "t.csv: line 2, column us");
  CHECK(problem("m,n,k\n1,2,3\n") == "t.csv: line 2, column us");
}

TEST_CASE("a kind that no procedure fits is refused") {
  const std::vector<OperatorTable> tables{OperatorTable::parse("kind,us\nsort,3\n", "t.csv")};
  CHECK_THROWS_AS((void)calibrate_from_tables(tables, load_machine("h200"), {}), InputError);
}

TEST_CASE("a calibration from a synthetic table predicts its held-out rows and finds its floor") {
  const MachineSpec base = load_machine("a100_40gb");
  const Device& device = base.platform.devices[DeviceId{0}];
  const std::vector<OperatorTable> tables{
      OperatorTable::parse(table_of(known_library(), device), "synthetic.csv")};
  const TableCalibration made = calibrate_from_tables(
      tables, base, {.name = "made", .date = "2026-11-24", .command = "schedlab calibrate"});
  REQUIRE(made.fits.size() == 1);
  const RegionError& all = made.fits[0].report.front();
  CHECK(all.rows > 100);
  CHECK(all.median < 0.02);
  CHECK(all.p90 < 0.08);
  CHECK(made.fits[0].report.back().region == "m up to 64, products measured");
  std::size_t rows = 0;
  for (const ErrorCell& cell : made.fits[0].cells) {
    CHECK(cell.spread >= 1.0);
    rows += cell.rows;
  }
  CHECK(rows == all.rows);
  REQUIRE_FALSE(made.fits[0].coverage.empty());
  rows = 0;
  for (const IntervalCoverage& one : made.fits[0].coverage) {
    CHECK(one.low <= one.high);
    CHECK(one.covered > 0.6);
    rows += one.rows;
  }
  CHECK(rows == all.rows);
  const auto& profile = made.machine.platform.devices[DeviceId{0}].profile;
  REQUIRE(profile != nullptr);
  const MatrixLibrary& library = profile->libraries.back();
  const std::vector<ResidualTree>& residuals = library.pipelined->residuals;
  CHECK(residuals.size() == 50);
  CHECK(residuals.front().nodes.size() > 1);
  CHECK(library.types == std::vector<DataType>{DataType::bf16});
  CHECK(value(library, ProductParameter::memory_share) == doctest::Approx(0.7).epsilon(0.1));
  CHECK(value(library, ProductParameter::floor_us) == doctest::Approx(3.3).epsilon(0.3));
  CHECK(made.machine.name == "made");
  CHECK(read_machine(write_machine(made.machine), "made").platform.devices[DeviceId{0}].profile !=
        nullptr);
}

TEST_CASE("a few rows move a machine's library to what they say, and leave the rest") {
  const MachineSpec base = load_machine("h100");
  const Device& device = base.platform.devices[DeviceId{0}];
  const MatrixLibrary& own = pipelined_library_of(base, DataType::bf16);
  MatrixLibrary other = own;  // 1.5 us more for each product
  other.pipelined->of(ProductParameter::floor_us).value += 1.5;
  std::vector<MeasuredProduct> rows = micro_sweep(20);
  REQUIRE(rows.size() == 20);
  for (MeasuredProduct& row : rows) row.us = product_us(other, row, DataType::bf16, device);
  const MatrixLibrary refined = refine_products(own, rows, DataType::bf16, device);
  const MeasuredProduct small{.m = 8, .n = 512, .k = 512, .us = 0, .use = RowUse::report};
  const double before = product_us(own, small, DataType::bf16, device);
  CHECK(product_us(refined, small, DataType::bf16, device) ==
        doctest::Approx(before + 1.5).epsilon(0.1));
}

TEST_CASE("products carried over within a generation differ by the data sheet alone") {
  const MachineSpec h100 = load_machine("h100");
  const MachineSpec h200 =
      transfer_products({load_machine("a100"), h100}, load_machine("h200"), DataType::bf16);
  const MatrixLibrary& made = pipelined_library_of(h200, DataType::bf16);
  CHECK(made.assumed);
  CHECK(made.pipelined->values == pipelined_library_of(h100, DataType::bf16).pipelined->values);
  Device device = h200.platform.devices[DeviceId{0}];
  CHECK(cost_evidence(device) == CostEvidence::calibrated);  // its attention is fitted
  auto products_alone = std::make_shared<KernelProfile>(*device.profile);
  products_alone->context = {};
  products_alone->generation = {};
  device.profile = products_alone;
  CHECK(cost_evidence(device) == CostEvidence::data_sheet);
  CHECK_THROWS_AS((void)pipelined_library_of(load_machine("v100"), DataType::bf16),
                  InfeasibleError);
}

}  // namespace schedlab
