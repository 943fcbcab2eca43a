// SPDX-License-Identifier: Apache-2.0
// Matrix products in published profiles of inference (AMD-AGI/TraceLens), against what the machine
// files predict from the operators' shapes. Every product of a profile is a row; none was fitted.
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/gzip.hpp"
#include "sim/machine/cost_model.hpp"
#include "tests/comparisons/deepbench.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::Errors;

/// An operator that multiplies, and the time of the kernels that it launched.
struct ProfiledProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double us = 0;
};

/// aten::mm and aten::addmm in bf16 with shapes, by their external ids.
std::map<std::int64_t, ProfiledProduct> products_of(const json& events) {
  std::map<std::int64_t, ProfiledProduct> products;
  for (const json& event : events) {
    const std::string name = event.value("name", "");
    const std::size_t first = name == "aten::addmm" ? 1 : 0;  // a bias stands before the matrices
    if (name != "aten::mm" && name != "aten::addmm") continue;
    const json& arguments = event.at("args");
    if (!arguments.contains("Input Dims")) continue;
    if (arguments.at("Input type").at(first) != "c10::BFloat16") continue;
    const json& left = arguments.at("Input Dims").at(first);
    const json& right = arguments.at("Input Dims").at(first + 1);
    products[arguments.at("External id").get<std::int64_t>()] = {left.at(0).get<std::int64_t>(),
                                                                 right.at(1).get<std::int64_t>(),
                                                                 left.at(1).get<std::int64_t>()};
  }
  for (const json& event : events) {
    if (event.value("cat", "") != "kernel") continue;
    const auto found = products.find(event.at("args").value("External id", std::int64_t{-1}));
    if (found != products.end()) found->second.us += event.at("dur").get<double>();
  }
  std::erase_if(products, [](const auto& one) { return one.second.us == 0; });
  return products;
}

double predicted_us(const MachineSpec& machine, const ProfiledProduct& product) {
  TaskGraphBuilder builder;
  const TaskId task = builder.add_task(builder.add_operation(
      testing::deepbench::product_operation(product.m, product.n, product.k, DataType::bf16)));
  const TaskGraph graph = std::move(builder).build();
  const CostTable costs{graph, machine.platform, *make_cost_model("tiled_gemm")};
  return to_us(costs.duration(task));
}

struct Profile {
  const char* file;
  const char* machine;
  std::size_t rows;
  double median;  ///< reached, rounded up (docs/external_comparisons.md)
};

}  // namespace

TEST_CASE("products in profiles of inference, predicted from their shapes") {
  const Profile profiles[] = {{"mi300x_bert_small", "mi300x", 26, 0.50},
                              {"b200_eager", "b200", 109, 0.22},
                              {"h100_bert_small", "h100", 26, 0.42},
                              {"h100_vit_nsfw", "h100", 73, 0.41}};
  for (const Profile& profile : profiles) {
    const auto path = testing::reference_data(fmt::format("tracelens/{}.json.gz", profile.file));
    if (!path) return;
    const json trace = json::parse(read_file_or_gzip(*path));
    const MachineSpec machine = load_machine(profile.machine);
    Errors errors;
    std::map<std::string, std::vector<double>> measured;
    std::map<std::string, double> predicted;
    for (const auto& [id, product] : products_of(trace.at("traceEvents"))) {
      const double us = predicted_us(machine, product);
      errors.add(us, product.us);
      const std::string shape = fmt::format("{} x {} x {}", product.m, product.n, product.k);
      measured[shape].push_back(product.us);
      predicted[shape] = us;
    }
    MESSAGE(fmt::format(
        "{}: {}, signed {:+.1f} %", profile.file, errors.summary(), 100 * errors.median_signed()));
    for (auto& [shape, times] : measured) {
      std::sort(times.begin(), times.end());
      MESSAGE(fmt::format("  {}: {:.2f} us predicted, {:.2f} measured ({} times)",
                          shape,
                          predicted[shape],
                          times[times.size() / 2],
                          times.size()));
    }
    CHECK(errors.count() == profile.rows);
    CHECK(errors.median() < profile.median);
    CHECK(errors.median_signed() < 0);  // too fast in every profile
  }
}

}  // namespace schedlab
