// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/epoch_sensitivity.hpp"

#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/bucket_study.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace schedlab {
namespace {

using nlohmann::json;

/// Lengths 1 to 12, 40 sequences, three buckets by these rules, on an M40.
json study_of(const std::string& rules) {
  return json::parse(R"({
    "schedlab": "buckets", "version": 1, "name": "small",
    "lengths": {"kind": "uniform", "longest": 12, "sequences": 40},
    "training": {"batch": 4}, "buckets": 3, "rule": )" +
                     rules + R"(,
    "scenario": {"workload": {"kind": "lstm", "layers": 2, "hidden": 64},
                 "machine": {"base": "m40"}, "policy": "diagonal"}})");
}

BucketSpec parsed(const json& study) {
  return parse_bucket_spec(study.dump(), "study.json");
}

BucketStudy studied(const BucketSpec& spec) {
  return run_bucket_study(spec, nullptr, [](std::uint64_t, std::uint64_t) {});
}

TEST_CASE("a report's elasticities of epochs are those of studies that set the number themselves") {
  const json study = study_of(R"(["fixed_step", "increasing_step"])");
  const BucketSpec spec = parsed(study);
  const auto found = epoch_sensitivity(studied(spec), nullptr);
  REQUIRE(found.has_value());
  // Rows in the order in which they are compared: the fastest first.
  REQUIRE(found->policies.size() == 2);
  REQUIRE(found->policies[0].starts_with("rule "));
  CHECK(found->makespans[0] <= found->makespans[1]);
  const auto at = [&](double factor, std::size_t policy) {
    json changed = study;
    changed["scenario"]["machine"]["kernel_floor_us"] = 1.6 * factor;
    const BucketSpec there = parsed(changed);
    for (const BucketRow& row : studied(there).rows) {
      if ("rule " + row.rule == found->policies[policy]) return to_us(row.time.total);
    }
    return 0.0;
  };
  const auto number = std::find_if(found->numbers.begin(), found->numbers.end(), [](const auto& n) {
    return n.number.pointer == "/device/kernel_floor_us";
  });
  REQUIRE(number != found->numbers.end());
  REQUIRE(number->number.value == doctest::Approx(1.6));
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(to_us(found->makespans[i]) == doctest::Approx(at(1, i)));
    CHECK(
        number->elasticity[i] ==
        doctest::Approx(std::log(at(1.01, i) / at(0.99, i)) / std::log(1.01 / 0.99)).epsilon(1e-6));
    CHECK(number->elasticity[i] > 0.01);
  }
  const BucketSpec alone = parsed(study_of(R"("optimal")"));
  CHECK_FALSE(epoch_sensitivity(studied(alone), nullptr));
}

}  // namespace
}  // namespace schedlab
