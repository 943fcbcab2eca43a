// SPDX-License-Identifier: Apache-2.0
// Parameters of CLBlast, on the fake driver, which is a fake of CLBlast as well: products with a
// tile of 32 take no time, with one of 64 they are wrong.
#include "real_exec/opencl/product_tuning.hpp"

#include "policies/registry.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/interrupt.hpp"
#include "tests/real_exec/opencl/good_driver.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

const std::string fake = SCHEDLAB_FAKE_OPENCL;

OpenClExecutorOptions with_fake_products(ProductParameters products = {}) {
  return {.library = fake, .blas_library = fake, .products = std::move(products)};
}

TaskGraph one_product() {
  TaskGraphBuilder builder;
  builder.add_task(
      builder.add_operation({.name = "product",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(8, 8, 8, DataType::fp32, false)}}));
  return std::move(builder).build();
}

void multiply(OpenClExecutor& executor) {
  const Scene scene(one_product());
  OpenClProxyWork work(executor, scene.graph, scene.costs);
  Execution execution;
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, execution);
}

std::vector<TunedKernel> tuned(OpenClExecutor& executor) {
  return tune_products(executor, false, [](std::size_t, std::size_t) {});
}

}  // namespace

TEST_CASE("tuning takes the fastest parameters whose products are right, for the executor's life") {
  FakeDriver& driver = good_fake_driver(fake);
  const auto own = driver.parameters;
  for (const std::size_t fast : {32U, 64U}) {
    CAPTURE(fast);
    driver.fast_tile = fast;  // 64: fast and wrong, so that all others are as good
    OpenClExecutor executor(with_fake_products());
    const std::vector<TunedKernel> found = tuned(executor);
    REQUIRE(found.size() == 3);
    CHECK(found[0].kernel == "XgemmDirect");
    if (fast == 32) CHECK(found[0].parameters.at("WGD") == 32);
    CHECK(found[0].parameters.at("WGD") != 64);
    CHECK(found[0].how.find("fastest of 6 sets") != std::string::npos);
    CHECK(driver.parameters["XgemmDirect"]["WGD"] == found[0].parameters.at("WGD"));
    CHECK(driver.parameters["GemmRoutine"]["XGEMM_MIN_INDIRECT_SIZE"] ==
          found[2].parameters.at("XGEMM_MIN_INDIRECT_SIZE"));
  }
  for (const auto& [kernel, parameters] : own) {
    for (const auto& [name, value] : parameters) CHECK(driver.parameters[kernel][name] == value);
  }
}

TEST_CASE("a run that is interrupted while it tunes leaves CLBlast as it was") {
  FakeDriver& driver = good_fake_driver(fake);
  OpenClExecutor executor(with_fake_products());
  CHECK_THROWS_AS(static_cast<void>(tune_products(executor,
                                                  true,
                                                  [](std::size_t done, std::size_t total) {
                                                    CHECK(done < total);
                                                    if (done == 3) throw Interrupted("stop");
                                                  })),
                  Interrupted);
  CHECK(driver.parameters["XgemmDirect"]["WGD"] == 16);
  CHECK(driver.parameters["GemmRoutine"]["XGEMM_MIN_INDIRECT_SIZE"] == 100);
}

TEST_CASE("parameters of the options hold from the first product to the executor's end") {
  FakeDriver& driver = good_fake_driver(fake);
  {
    OpenClExecutor executor(with_fake_products({{"XgemmDirect", {{"WGD", 32}}}}));
    CHECK(executor.products() == "clblast, tuned");
    multiply(executor);
    CHECK(driver.parameters["XgemmDirect"]["WGD"] == 32);
  }
  CHECK(driver.parameters["XgemmDirect"]["WGD"] == 16);
  driver.failing_call = "CLBlastOverrideParameters";
  driver.failing_status = -2044;  // a parameter is missing
  OpenClExecutor executor(with_fake_products({{"XgemmDirect", {{"WGD", 32}}}}));
  CHECK_THROWS_WITH_AS(multiply(executor),
                       doctest::Contains("CLBlastOverrideParameters(XgemmDirect): status -2044"),
                       DeviceError);
}

TEST_CASE("a CLBlast that takes no parameters multiplies with its own, and says so") {
  good_fake_driver(fake);
  OpenClExecutorOptions options = with_fake_products({{"XgemmDirect", {{"WGD", 32}}}});
  options.blas_library = SCHEDLAB_OLD_CLBLAST;
  OpenClExecutor executor(options);
  CHECK(executor.products().find("clblast, not tuned: its version") == 0);
  CHECK(tuned(executor).empty());
}
