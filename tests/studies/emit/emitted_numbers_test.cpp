// SPDX-License-Identifier: Apache-2.0
// What emitted programs compute, against back-propagation in double precision on the same numbers.
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "tests/studies/emit/emitted_program.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <regex>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::emitted_plan;
using testing::run_recorded;

/// The numbers of a kernel that emitted programs fill arrays with.
std::vector<double> uniform(std::size_t count, float scale, std::uint32_t seed) {
  std::vector<double> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t bits = i + seed * 0x9E3779B9U;
    bits = (bits ^ (bits >> 16U)) * 0x85EBCA6BU;
    bits = (bits ^ (bits >> 13U)) * 0xC2B2AE35U;
    bits ^= bits >> 16U;
    const float unit = static_cast<float>(bits >> 8U) / 16777216.0F;
    values.push_back(scale * (2.0F * unit - 1.0F));
  }
  return values;
}

/// Every array that a program fills, by name; a later filling counts.
std::map<std::string, std::vector<double>> filled_arrays(const std::string& source) {
  std::map<std::string, std::vector<double>> arrays;
  const std::regex filling(R"(  uniform\((\w+), (\d+), (\d+), \d+, ([-0-9.e+]+)F, (\d+)\);)");
  for (std::sregex_iterator at(source.begin(), source.end(), filling), end; at != end; ++at) {
    const std::smatch& match = *at;
    arrays[match[1]] = uniform(std::stoul(match[2]) * std::stoul(match[3]),
                               std::stof(match[4]),
                               static_cast<std::uint32_t>(std::stoul(match[5])));
  }
  return arrays;
}

/// Blocks of columns of a GRU stand in another order in the program: block b of the outside is
/// block places[b].
std::vector<double> outside(const std::vector<double>& inside,
                            const std::vector<std::size_t>& places,
                            std::size_t hidden) {
  std::vector<double> made(inside.size());
  const std::size_t columns = places.size() * hidden;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const std::size_t column = i % columns;
    made[i] = inside[i - column + places[column / hidden] * hidden + column % hidden];
  }
  return made;
}

RecurrentInputs<double> inputs_of(const RecurrentSpec& spec, const std::string& source) {
  auto arrays = filled_arrays(source);
  const auto hidden = static_cast<std::size_t>(spec.hidden);
  const bool lstm = spec.cell == RecurrentCell::lstm;
  RecurrentInputs<double> inputs;
  inputs.x = arrays.at("x");
  inputs.dy = arrays["dy"];
  inputs.target = arrays["target"];
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::string of = fmt::format("l{}_", layer);
    auto& chain = inputs.chains.emplace_back();
    const std::vector<double> wx = arrays.at(of + "wx");
    const std::vector<double> bias = arrays.at(of + "bias");
    chain.wx = lstm ? wx : outside(wx, {1, 2, 0}, hidden);
    chain.wh = arrays.at(of + "wh");
    chain.bias = lstm                              ? bias
                 : spec.cell == RecurrentCell::gru ? outside(bias, {1, 2, 0, 3}, hidden)
                                                   : outside(bias, {1, 2, 0}, hidden);
    const std::string rounded = of + "h_first";  // where outputs are in bf16
    chain.h0 = arrays.at(arrays.contains(rounded) ? rounded : fmt::format("y_{}", layer));
    if (lstm) chain.c0 = arrays.at(of + "c");
    chain.dh_last = arrays[of + "dh_last"];
    if (lstm) chain.dc_last = arrays[of + "carry_last"];
    if (chain.dh_last.empty()) chain.dh_last.resize(chain.h0.size());
    if (lstm && chain.dc_last.empty()) chain.dc_last.resize(chain.h0.size());
  }
  return inputs;
}

double squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Norms that the program prints, by array.
std::map<std::string, double> printed_norms(const std::string& printed) {
  std::map<std::string, double> norms;
  const std::regex line(R"(  (\w+) +norm ([-0-9.e+]+|nan), off by)");
  for (std::sregex_iterator at(printed.begin(), printed.end(), line), end; at != end; ++at) {
    norms[(*at)[1]] = std::stod((*at)[2]);
  }
  return norms;
}

void expect_reference(const std::string& workload, double tolerance) {
  CAPTURE(workload);
  const EmittedPlan emitted =
      emitted_plan(R"({"workload": )" + workload + R"(, "machine": "h200", "policy": "heft"})");
  const RecurrentSpec& spec = emitted.recurrent.value();
  const std::string source = cuda_source(emitted, {}).text;
  const testing::RecordedProgram program = run_recorded(source, true);
  CAPTURE(program.printed);
  REQUIRE(program.exit_code == 0);
  const RecurrentInputs<double> inputs = inputs_of(spec, source);
  const RecurrentResults<double> expected = recurrent_reference(spec, inputs);
  const auto norms = printed_norms(program.printed);
  const auto compare = [&](const std::string& name, double sum) {
    CAPTURE(name);
    CHECK(norms.at(name) == doctest::Approx(std::sqrt(sum)).epsilon(tolerance));
  };
  // Outputs lie behind the initial state.
  compare(fmt::format("y_{}", spec.layers - 1),
          squares(expected.y) + squares(inputs.chains.back().h0));
  if (spec.pass == RecurrentPass::forward) return;
  compare("l0_dx", squares(expected.dx));
  for (std::size_t i = 0; i < expected.chains.size(); ++i) {
    const std::string of = fmt::format("l{}_", i);
    compare(of + "dwx", squares(expected.chains[i].dwx));
    compare(of + "dwh", squares(expected.chains[i].dwh));
    compare(of + "dbias", squares(expected.chains[i].dbias));
    if (spec.pass != RecurrentPass::training) continue;
    compare(of + "wx", squares(expected.chains[i].wx));
    compare(of + "bias", squares(expected.chains[i].bias));
  }
  if (spec.pass == RecurrentPass::training) compare("loss", expected.loss * expected.loss);
}

}  // namespace

TEST_CASE("emitted programs compute the network") {
  const std::string sizes = R"({"layers": 2, "steps": 3, "batch": 4, "hidden": 16, "input": 8, )";
  expect_reference(sizes + R"("kind": "lstm"})", 1e-5);
  expect_reference(sizes + R"("kind": "gru", "pass": "training"})", 1e-5);
  expect_reference(sizes + R"("kind": "gru", "reset": "before"})", 1e-5);
  expect_reference(
      sizes +
          R"("kind": "lstm", "hidden_1_slices": 2, "hidden_2_steps": 2, "weight_units": 3, "k_major": true,
                              "accumulation": "batched", "accumulation_steps": 2})",
      1e-5);
  // Factors have eight bits.
  expect_reference(sizes + R"("kind": "lstm", "pass": "training", "data_type": "bf16"})", 1e-2);
}

}  // namespace schedlab
