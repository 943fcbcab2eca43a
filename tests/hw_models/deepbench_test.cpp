// SPDX-License-Identifier: Apache-2.0
// How far the models are from measured matrix kernels of a public benchmark
// (baidu-research/DeepBench, FP32 training rows). Nothing in the models is fitted to these rows;
// the test reports the error and fails only when the estimate has lost touch with the device.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace schedlab {
namespace {

struct Row {
  std::int64_t m, n, k;
  double measured_us;
};

std::filesystem::path reference_file() {
  return testing::reference_data_folder() / "deepbench" / "gemm.csv";
}

// Columns: device, mode, precision, app, M, N, K, transA, transB, time_ms, padded_kernels.
std::vector<Row> rows_of(const std::string& device) {
  std::ifstream file{reference_file()};
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells{line};
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (row.size() < 10 || row[0] != device || row[2] != "FP32") continue;
    rows.push_back(
        {std::stoll(row[4]), std::stoll(row[5]), std::stoll(row[6]), std::stod(row[9]) * 1e3});
  }
  return rows;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

/// Relative errors, signed: estimate / measured - 1.
std::vector<double> errors_of(const CostModel& model,
                              const std::string& machine_name,
                              const std::vector<Row>& rows) {
  const MachineSpec machine = load_machine(machine_name);
  std::vector<double> errors;
  for (const Row& row : rows) {
    const Operation operation{.name = "gemm",
                              .kind = TaskKind::gemm,
                              .kernels = {gemm_kernel(row.m, row.n, row.k, DataType::fp32, false)}};
    const double us =
        to_us(model.estimate(operation, machine.platform.devices[DeviceId{0}]).duration);
    errors.push_back(us / row.measured_us - 1.0);
  }
  return errors;
}

}  // namespace

TEST_CASE("the models stay in touch with measured matrix kernels of P100 and V100") {
  if (!std::filesystem::exists(reference_file())) {
    testing::skip("the reference data is absent (set SCHEDLAB_REFERENCE_DATA)");
    return;
  }
  for (const auto& [device, machine] :
       {std::pair{"NV_P100", "p100"}, std::pair{"NV_V100", "v100"}}) {
    const std::vector<Row> rows = rows_of(device);
    REQUIRE(rows.size() > 50);
    for (const auto& [label, model, split] : {std::tuple{"roofline", "roofline", 0},
                                              std::tuple{"tiled_gemm split_k 1", "tiled_gemm", 1},
                                              std::tuple{"tiled_gemm", "tiled_gemm", 0}}) {
      std::map<std::string, OptionValue> options;
      if (split > 0) options["split_k"] = std::int64_t{split};
      const std::vector<double> errors = errors_of(*make_cost_model(model, options), machine, rows);
      std::vector<double> sizes;
      for (const double error : errors) sizes.push_back(std::abs(error));
      MESSAGE(std::string{machine} << ", " << std::string{label} << ", " << rows.size()
                                   << " matrix kernels: median error " << 100 * quantile(sizes, 0.5)
                                   << " %, 90th percentile " << 100 * quantile(sizes, 0.9)
                                   << " %, median signed " << 100 * quantile(errors, 0.5) << " %");
      CHECK(quantile(sizes, 0.5) < 1.0);
    }
  }
}

TEST_CASE("where the model would split k, measurements say whether the library did") {
  if (!std::filesystem::exists(reference_file())) {
    testing::skip("the reference data is absent (set SCHEDLAB_REFERENCE_DATA)");
    return;
  }
  for (const auto& [device, machine] :
       {std::pair{"NV_P100", "p100"}, std::pair{"NV_V100", "v100"}}) {
    const std::vector<Row> rows = rows_of(device);
    const std::vector<double> split = errors_of(*make_cost_model("tiled_gemm"), machine, rows);
    const std::vector<double> whole =
        errors_of(*make_cost_model("tiled_gemm", {{"split_k", std::int64_t{1}}}), machine, rows);
    std::vector<double> split_there;
    std::vector<double> whole_there;
    std::size_t nearer = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(split[i] <= whole[i]);  // it is used only where it is faster
      if (split[i] == whole[i]) continue;
      split_there.push_back(split[i]);
      whole_there.push_back(whole[i]);
      // On a logarithmic scale, as twice too slow is no better than half of it.
      nearer += std::abs(std::log1p(split[i])) < std::abs(std::log1p(whole[i])) ? 1U : 0U;
      MESSAGE(std::string{machine} << " " << rows[i].m << " x " << rows[i].n << ", k " << rows[i].k
                                   << ": with split-k " << 100 * split[i] << " %, without "
                                   << 100 * whole[i] << " %");
    }
    REQUIRE_FALSE(split_there.empty());
    MESSAGE(std::string{machine} << ": split-k would be faster in " << split_there.size()
                                 << " rows; nearer to the measured time in " << nearer
                                 << "; median signed error with it "
                                 << 100 * quantile(split_there, 0.5) << " %, without "
                                 << 100 * quantile(whole_there, 0.5) << " %");
  }
}

}  // namespace schedlab
