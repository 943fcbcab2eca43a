// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/engine_study.hpp"

#include "hw_models/engine_fit.hpp"
#include "sim/base/error.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;

const std::vector<std::string> networks{"alexnet", "vgg16", "resnet50"};

/// Costs in seconds: a byte that a convolution moves, a byte of ReLU, an operator and a byte of the
/// rest; the management core takes twenty times as long.
constexpr double conv_byte = 1e-10;
constexpr double relu_byte = 3e-11;
constexpr double rest_operator = 5e-3;
constexpr double rest_byte = 2e-10;

/// Times that these costs make, of convolutions forward and of ReLU.
json planted_network(const std::string& name) {
  const TaskGraph graph =
      make_workload(name, {{"batch", std::int64_t{2}}, {"include_transfers", false}});
  double conv = 0;
  double relu = 0;
  double step = 0;
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    const EngineWork work = engine_work(operation);
    const EngineClass kind = engine_class(operation);
    if (kind == EngineClass::conv_forward) {
      conv += work.moved_bytes * conv_byte;
      step += work.moved_bytes * conv_byte;
    } else if (kind == EngineClass::activation) {
      if (operation.name == "relu") relu += work.moved_bytes * relu_byte;
      step += work.moved_bytes * relu_byte;
    } else if (kind == EngineClass::data_split) {
      step += rest_operator + work.moved_bytes * rest_byte;
    }
  }
  return {{"workload", name},
          {"array_ms", {1e3 * conv, 1e3 * relu}},
          {"management_ms", {20e3 * conv, 20e3 * relu}},
          {"array_step_s", step},
          {"management_step_s", 20 * step}};
}

json planted_spec() {
  json spec = json::parse(R"({"schedlab": "engine_study", "version": 1, "machine": "sw26010_pro",
    "batch": 2, "classes": [{"class": "conv_forward", "operations": ["conv_forward"]},
                            {"class": "activation", "operations": ["relu"]}],
    "operator_shares": [0, 1], "splits": [1, 2], "policies": ["successor_first"]})");
  for (const std::string& name : networks) spec["networks"].push_back(planted_network(name));
  return spec;
}

double number(const Cell& cell) {
  return std::get<double>(cell);
}

TEST_CASE("an engine study predicts the steps that its own model made") {
  std::uint64_t last = 0;
  const EngineStudySpec spec = parse_engine_study(planted_spec().dump(), "planted");
  const Table table = run_engine_study(spec, nullptr, [&](std::uint64_t done) { last = done; });
  CHECK(last == simulation_count(spec));
  std::map<std::string, int> rows;
  for (const auto& row : table.rows) {
    const auto& quantity = std::get<std::string>(row.front());
    ++rows[quantity];
    const bool array = row[3] == Cell{std::string{"array"}};
    // On the array the terms of the costs are those that the times were made with.
    if (array && (quantity == "class_time" || quantity == "step_time")) {
      CHECK(number(row.back()) < 1e-6);
    }
    if (array && quantity == "pair_worst") CHECK(number(row[9]) < 1e-6);
    if (quantity == "table_ratio") CHECK(number(row[9]) == doctest::Approx(20));
  }
  // Three pairs predict one network each, two classes on two processors.
  CHECK(rows["class_time"] == 3 * 2 * 2);
  CHECK(rows["step_time"] == 3 * 2);
  CHECK(rows["pair_median"] == 3 * 2);
  // Two shares, two by both processors, the fit of all and the machine's own costs; two splits.
  CHECK(rows["speed_up"] == 3 * 6 * 2);
  CHECK(rows["best_speed_up"] == 3 * 6);
  const auto values = engine_axis_values(spec);
  for (const auto& row : table.rows) {
    for (std::size_t column = 0; column < values.size(); ++column) {
      const auto& known = values[column];
      if (known.empty() || row[column].index() == 0) continue;
      CHECK(std::find(known.begin(), known.end(), row[column]) != known.end());
    }
  }
}

TEST_CASE("what each operator takes whatever its size is what a split cannot divide") {
  const EngineStudySpec spec = parse_engine_study(planted_spec().dump(), "planted");
  const Table table = run_engine_study(spec, nullptr, [](std::uint64_t) {});
  // Not the others: at two images the bytes of their merged gradients outweigh everything else.
  std::map<double, double> by_share;
  for (const auto& row : table.rows) {
    if (row[0] != Cell{std::string{"speed_up"}} || row[4] != Cell{std::string{"own"}}) continue;
    if (row[1] != Cell{std::string{"resnet50"}} || row[6] != Cell{std::int64_t{2}}) continue;
    by_share[number(row[5])] = number(row[9]);
  }
  REQUIRE(by_share.size() == 2);
  CHECK(by_share.at(0) > 1.2 * by_share.at(1));
}

TEST_CASE("a study that cannot be is refused with its place") {
  const auto message = [](const json& spec) {
    try {
      static_cast<void>(parse_engine_study(spec.dump(), "study"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  json spec = planted_spec();
  spec["networks"][1]["array_ms"] = {1};
  CHECK(message(spec).find("/networks/1: found 1 times, expected 2") != std::string::npos);
  spec = planted_spec();
  spec["networks"][2]["workload"] = "vgg16";
  CHECK(message(spec).find("\"vgg16\" twice") != std::string::npos);
  spec = planted_spec();
  spec["classes"][1]["class"] = "conv_forward";
  CHECK(message(spec).find("class conv_forward twice") != std::string::npos);
  spec = planted_spec();
  spec["policies"] = {"successor_frist"};
  CHECK(message(spec).find("successor_first") != std::string::npos);
  spec = planted_spec();
  spec.erase("machine");
  CHECK(message(spec).find("machine") != std::string::npos);
}

}  // namespace
}  // namespace schedlab
