// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_trees.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/residual_fit.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {
namespace {

ResidualTree tree(const char* text) {
  const std::optional<ResidualTree> read = tree_of(text);
  REQUIRE(read.has_value());
  return *read;
}

/// A product of m rows and k columns of A.
ResidualPlace place(double m, double k) {
  ResidualPlace made{};
  made.fill(1.0);
  made[static_cast<std::size_t>(ResidualFeature::m)] = m;
  made[static_cast<std::size_t>(ResidualFeature::k)] = k;
  return made;
}

double percent_at(const std::vector<ResidualTree>& trees, double m, double k) {
  return 100.0 * std::log(residual_factor(trees, place(m, k)));
}

}  // namespace

TEST_CASE("a tree answers by its questions in preorder, and trees add up") {
  const ResidualTree one = tree("m16 k4 -3 2.5 k512 10 20");
  CHECK(residual_percent(one, place(16, 4)) == -3);
  CHECK(residual_percent(one, place(16, 4.5)) == 2.5);
  CHECK(residual_percent(one, place(17, 512)) == 10);
  CHECK(residual_percent(one, place(1e6, 1e6)) == 20);
  CHECK(percent_at({one, tree("5")}, 1, 1) == doctest::Approx(2));
  CHECK(residual_factor({}, place(3, 3)) == 1.0);
}

TEST_CASE("the text of a tree is read back as it was, and what is no tree is not read") {
  for (const char* text :
       {"0", "m16 -3 k512 2.5 0.1", "D1.25 A3e-05 1 2 w0.5 p1.06 u12.5 1 2 3 4"}) {
    CHECK(tree_text(tree(text)) == text);
  }
  for (const char* text : {"",
                           " ",
                           "m16",
                           "m16 1",
                           "m16 1 2 3",
                           "m 1 2",
                           "z3 1 2",
                           "m16 1  2",
                           "m16 1 2 ",
                           "1x",
                           "nan",
                           "inf",
                           "minf 1 2"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(tree_of(text).has_value());
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "m1 0 ";
  CHECK_FALSE(tree_of(deep + "0").has_value());
}

TEST_CASE("a fit finds the residuals that trees made, moved little by rows that err") {
  const std::vector<ResidualTree> truth{tree("m16 -20 k512 10 30"), tree("w1 5 0")};
  const auto worst_with = [&](double outlier) {
    std::vector<ResidualRow> rows;
    for (int i = 0; i < 4000; ++i) {
      ResidualPlace at = place(1 + i % 40, 128 << (i / 40 % 5));
      at[static_cast<std::size_t>(ResidualFeature::waves)] = 0.5 + i / 7 % 3;
      rows.push_back({at, std::log(residual_factor(truth, at)) + (i % 23 == 3 ? outlier : 0.0)});
    }
    const std::vector<ResidualTree> found = fit_residuals(rows);
    for (const ResidualTree& one : found) CHECK(tree(tree_text(one).c_str()) == one);
    double worst = 0;
    for (const ResidualRow& row : rows) {
      const double ratio = residual_factor(found, row.place) / residual_factor(truth, row.place);
      worst = std::max(worst, std::abs(100 * std::log(ratio)));
    }
    return worst;
  };
  // A fifth of what is left, rounded to 0.1 %, comes to rest at 0.25 %.
  CHECK(worst_with(0) < 0.26);
  // ln 2 has the weight 1 / sqrt(1 + (0.69 / 0.04)^2) = 0.058: twice among the eight rows of a leaf
  // it moves six others by 2 x 0.058 x 69 / 6 = 1.3 %. Least squares: by 17 %.
  CHECK(worst_with(std::log(2.0)) < 1.3);
  CHECK(fit_residuals({}).empty());
}

TEST_CASE("a leaf of trees has at least eight rows, and a tree at most the leaves asked for") {
  std::vector<ResidualRow> rows;
  for (int i = 0; i < 64; ++i) rows.push_back({place(i + 1, 1), i % 2 == 0 ? 0.3 : -0.3});
  for (const ResidualTree& one : fit_residuals(rows)) {
    CHECK(one.nodes.size() <= 2 * 8 - 1);
    for (const ResidualTree::Node& node : one.nodes) {
      if (node.otherwise > 0) CHECK((node.number >= 8 && node.number < 57));
    }
  }
  for (const ResidualTree& one : fit_residuals(rows, {.trees = 5, .leaves = 3})) {
    CHECK(one.nodes.size() <= 5);
  }
}

TEST_CASE("products measured take the model's time times the grid's factor, on machines with one") {
  const Device h100 = load_machine("h100").platform.devices[DeviceId{0}];
  Device device = h100;
  auto profile = std::make_shared<KernelProfile>(*h100.profile);
  PipelinedProducts& products = *profile->libraries.back().pipelined;
  products.residuals = {tree("m511 0 10")};
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

TEST_CASE("residuals that are no tree are refused by name, others are written and read again") {
  MachineSpec machine = load_machine("h100");
  Device& device = machine.platform.devices[DeviceId{0}];
  auto profile = std::make_shared<KernelProfile>(*device.profile);
  PipelinedProducts& products = *profile->libraries.back().pipelined;
  products.residuals = {tree("1"), tree("m16 -3 k512 2.5 0.1")};
  products.intervals = {{64, 0.8, 1.3}, {1e9, 0.9, 1.1}};
  device.profile = profile;
  std::string text = write_machine(machine);
  const MachineSpec again = read_machine(text, "made.json");
  CHECK(again.platform.devices[DeviceId{0}].profile->libraries.back() == profile->libraries.back());
  text.replace(text.find("k512 2.5"), 4, "z512");
  try {
    (void)read_machine(text, "made.json");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().pointer == "/device/matrix_libraries/0/residuals/1");
  }
}

}  // namespace schedlab
