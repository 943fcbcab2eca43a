// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_grid.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/residual_fit.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {
namespace {

/// m from 1 to 16 by k from 1 to 4.
ResidualGrid small_grid(std::vector<double> percent) {
  return {.points = {{{1, 4, 16}, {}, {1, 4}, {}}}, .percent = std::move(percent)};
}

double factor_at(const ResidualGrid& grid, double m, double k) {
  return 100.0 * std::log(residual_factor({grid}, {m, 1, k, 1}));
}

}  // namespace

TEST_CASE(
    "residuals are those of the grid's points, linear in logarithms between, constant beyond") {
  const ResidualGrid grid = small_grid({0, 4, 10, 20, 30, 40});
  CHECK(factor_at(grid, 1, 1) == doctest::Approx(0));
  CHECK(factor_at(grid, 4, 4) == doctest::Approx(20));
  CHECK(factor_at(grid, 2, 1) == doctest::Approx(5));    // half way from 1 to 4
  CHECK(factor_at(grid, 8, 2) == doctest::Approx(25));   // of 10, 20, 30, 40
  CHECK(factor_at(grid, 0.5, 9) == doctest::Approx(4));  // as at m 1, k 4
  CHECK(factor_at(grid, 1000, 1) == doctest::Approx(30));
  CHECK(residual_factor({}, {3, 3, 3, 3}) == 1.0);
  CHECK(100.0 * std::log(residual_factor({grid, grid}, {4, 1, 4, 1})) == doctest::Approx(40));
}

TEST_CASE("a fit finds the residuals of rows that a grid made, and nothing where there are none") {
  const ResidualGrid truth = small_grid({0, 4, 10, 20, 30, 40});
  std::vector<ResidualRow> rows;
  for (int i = 0; i < 4000; ++i) {
    const ResidualPlace place{std::exp2(i % 41 / 10.0), 1, std::exp2(i % 21 / 10.0), 1};
    rows.push_back({place, std::log(residual_factor({truth}, place))});
  }
  const auto found = fit_residuals({small_grid({})}, rows, 0.2);
  REQUIRE(found.front().percent.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(found.front().percent[i] == doctest::Approx(truth.percent[i]).epsilon(0.05).scale(20));
  }
  CHECK(fit_residuals({small_grid({})}, {}, 0.2).front().percent == std::vector<double>(6, 0.0));
}

TEST_CASE("products measured take the model's time times the grid's factor, on machines with one") {
  const Device h100 = load_machine("h100").platform.devices[DeviceId{0}];
  Device device = h100;
  auto profile = std::make_shared<KernelProfile>(*h100.profile);
  PipelinedProducts& products = *profile->libraries.back().pipelined;
  products.residuals = {{.points = {{{1, 2}, {}, {}, {}}}, .percent = {10, 10}}};
  device.profile = profile;
  const Operation product{.name = "gemm",
                          .kind = TaskKind::gemm,
                          .kernels = {gemm_kernel(512, 4096, 4096, DataType::bf16, false)}};
  const auto us = [&](ProductTimes times) {
    return to_us(TiledGemm{GemmOptions{.products = times}}.estimate(product, device).duration);
  };
  CHECK(us(ProductTimes::measured) ==
        doctest::Approx(std::exp(0.1) * us(ProductTimes::model)).epsilon(1e-6));
  products.residuals.clear();
  CHECK(us(ProductTimes::measured) == us(ProductTimes::model));
}

TEST_CASE("a grid with another number of residuals than points is refused by name") {
  MachineSpec machine = load_machine("h100");
  Device& device = machine.platform.devices[DeviceId{0}];
  auto profile = std::make_shared<KernelProfile>(*device.profile);
  profile->libraries.back().pipelined->residuals = {small_grid({1, 2, 3, 4, 5})};
  device.profile = profile;
  try {
    (void)read_machine(write_machine(machine), "made.json");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().pointer == "/device/matrix_libraries/0/residuals/0/percent");
  }
  profile->libraries.back().pipelined->residuals = {small_grid({1, 2, 3, 4, 5, 6})};
  profile->libraries.back().pipelined->intervals = {{64, 0.8, 1.3}, {1e9, 0.9, 1.1}};
  const MachineSpec again = read_machine(write_machine(machine), "made.json");
  CHECK(again.platform.devices[DeviceId{0}].profile->libraries.back() == profile->libraries.back());
}

}  // namespace schedlab
