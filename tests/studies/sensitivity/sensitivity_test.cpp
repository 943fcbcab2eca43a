// SPDX-License-Identifier: Apache-2.0
#include "studies/sensitivity/sensitivity.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/sensitivity/sensitivity_verb.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace schedlab {
namespace {

std::string spec_with(const std::string& machine, const std::string& policy) {
  return fmt::format(R"({{"workload": {{"kind": "lstm", "pass": "backward", "layers": 2, "steps": 8,
    "batch": 32, "hidden": 512}}, "machine": {}, "policy": {}}})",
                     machine,
                     policy);
}

Duration makespan(const std::string& machine, const std::string& policy) {
  return simulate(parse_spec(spec_with(machine, "\"" + policy + "\""), "one")).run.trace.makespan();
}

const NumberSensitivity* number(const Sensitivity& all, const std::string& pointer) {
  const auto found = std::find_if(all.numbers.begin(), all.numbers.end(), [&](const auto& each) {
    return each.number.pointer == pointer;
  });
  return found == all.numbers.end() ? nullptr : &*found;
}

TEST_CASE("elasticities and order changes are those of specs that set the number themselves") {
  const std::vector<std::string> policies{"single_stream", "cudnn_like", "critical_first"};
  const Spec spec = parse_spec(
      spec_with(R"("v100")", R"(["single_stream", "cudnn_like", "critical_first"])"), "three");
  const Sensitivity all = sensitivity(spec, {.step = 0.01, .range = 3});
  REQUIRE(all.policies == policies);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    CHECK(all.makespans[i] == makespan(R"("v100")", policies[i]));
    CHECK(all.makespans[all.fastest] <= all.makespans[i]);
  }
  CHECK(all.without_effect > 0);
  int turned = 0;
  for (const auto& [key, pointer, value] :
       {std::tuple{"launch_us", "/host/launch_us", 3.8},
        std::tuple{"memory_bandwidth_gb_per_s", "/device/memory_bandwidth_gb_per_s", 900.0},
        std::tuple{"stream_gap_us", "/device/stream_gap_us", 0.9}}) {
    CAPTURE(key);
    const NumberSensitivity* const found = number(all, pointer);
    REQUIRE(found != nullptr);
    REQUIRE(found->number.value == doctest::Approx(value));
    const auto at = [&](double factor, std::size_t policy) {
      return makespan(fmt::format(R"({{"base": "v100", "{}": {}}})", key, value * factor),
                      policies[policy]);
    };
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const double expected =
          std::log(to_us(at(1.01, i)) / to_us(at(0.99, i))) / std::log(1.01 / 0.99);
      CHECK(found->elasticity[i] == doctest::Approx(expected).epsilon(1e-6));
    }
    for (const auto* side : {&found->below, &found->above}) {
      if (!side->has_value()) continue;
      ++turned;
      const double factor = (*side)->factor;
      const auto fastest_at = [&](double there) {
        std::size_t best = all.fastest;
        for (std::size_t i = 0; i < policies.size(); ++i) {
          if (at(there, i) < at(there, best)) best = i;
        }
        return best;
      };
      CHECK(policies[fastest_at(factor)] == (*side)->policy);
      CHECK(fastest_at(factor < 1 ? factor * 1.0011 : factor / 1.0011) == all.fastest);
    }
  }
  CHECK(turned > 0);
}

TEST_CASE("order changes of the most delicate numbers are those that a study of all finds") {
  const Spec spec = parse_spec(
      spec_with(R"("v100")", R"(["single_stream", "cudnn_like", "critical_first"])"), "three");
  const Sensitivity all = sensitivity(spec, {});
  const Sensitivity few = sensitivity(spec, {.most_delicate = 20});
  CHECK(few.makespans == all.makespans);
  CHECK(few.fastest == all.fastest);
  std::size_t turns = 0;
  for (const NumberSensitivity& each : few.numbers) {
    const NumberSensitivity* const same = number(all, each.number.pointer);
    REQUIRE(same != nullptr);
    CHECK(each.elasticity == same->elasticity);
    if (!each.below && !each.above) continue;
    ++turns;
    CHECK(each.below.has_value() == same->below.has_value());
    CHECK(each.above.has_value() == same->above.has_value());
    if (each.below) CHECK(each.below->factor == same->below->factor);
    if (each.above) CHECK(each.above->factor == same->above->factor);
  }
  CHECK(turns > 0);
  CHECK(turns <= 20);
}

TEST_CASE("shares of operations are those of the critical path") {
  const Spec spec = parse_spec(spec_with(R"("v100")", R"("single_stream")"), "one");
  const Sensitivity all = sensitivity(spec, {});
  const Simulation run = simulate(spec);
  Duration running{0};
  for (const OperationShare& each : all.operations) running += each.running;
  CHECK(running == run.metrics.critical_path.running);
  CHECK(std::is_sorted(all.operations.begin(),
                       all.operations.end(),
                       [](const auto& a, const auto& b) { return a.running > b.running; }));
  CHECK(std::all_of(all.numbers.begin(), all.numbers.end(), [](const auto& each) {
    return !each.below && !each.above;  // one policy has no order
  }));
}

TEST_CASE("sensitivity writes what its schema says, and refuses several cases") {
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& text) {
    const std::string file = (folder.path() / "spec.json").string();
    write_file_atomically(file, text);
    return file;
  };
  testing::VerbSession session;
  SensitivityOptions options{.spec = write(spec_with(R"("v100")", R"(["diagonal", "heft"])")),
                             .out = (folder.path() / "out").string(),
                             .json = true};
  REQUIRE(session.call(options) == exit_done);
  const auto printed = session.printed();
  CHECK(printed["policies"].size() == 2);
  CHECK(printed["makespans_us"].size() == 2);
  CHECK(printed["numbers"][0]["elasticity"].size() == 2);
  CHECK_NOTHROW(read_checked_json(session.out.str(), sensitivity_schema(), "sensitivity"));
  CHECK(std::filesystem::exists(folder.path() / "out" / "report.html"));

  options.spec = write(spec_with(R"(["v100", "p100"])", R"("heft")"));
  options.out.clear();
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), doctest::Contains("one case"), InputError);
}

}  // namespace
}  // namespace schedlab
