// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "studies/base/schema_check.hpp"
#include "tests/hw_models/synthetic_profile.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace schedlab {
namespace {

bool fits_schema(const std::string& document) {
  try {
    read_checked_json(document, machine_schema(), "m.json");
  } catch (const InputError&) {
    return false;
  }
  return true;
}

MachineSpec profiled_machine() {
  MachineSpec machine = load_machine("manycore_cpu");
  KernelProfile profile = testing::synthetic_profile(0.05);
  profile.how = "made up for a test";
  profile.cpu = "Intel(R) Xeon(R) \"test\"";
  profile.compiler = "g++ 12.2";
  profile.valid = "hidden 96 to 640";
  profile.cut = {.flops_per_block = 123456.789, .bytes_per_block = 65536};
  profile.noise = 0.0123;
  profile.hidden_latency = 0.375;
  profile.samples.front().kernel.bytes_cached = Bytes{1000};
  profile.samples.front().kernel.bytes_unit_cached = Bytes{500};
  profile.cache_curve = {{0.5, 1.0}, {1.0, 0.75}, {2.0, 0.125}};
  profile.co_run = {{TaskKind::gemm, 1.05}, {TaskKind::pointwise, 1.0 / 3 + 1}};
  machine.platform.devices[DeviceId{0}].profile =
      std::make_shared<const KernelProfile>(std::move(profile));
  return machine;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("every machine that the library carries can be written and read again") {
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    const MachineSpec machine = load_machine(name);
    const std::string text = write_machine(machine);
    MachineSpec again = read_machine(text, "again.json");
    auto& profile = again.platform.devices[DeviceId{0}].profile;
    const auto& original = machine.platform.devices[DeviceId{0}].profile;
    REQUIRE((profile == nullptr) == (original == nullptr));
    if (profile != nullptr) CHECK(*profile == *original);
    profile = original;  // devices compare profiles by identity
    CHECK(again == machine);
    CHECK(fits_schema(text));
  }
}

TEST_CASE("a profile is written and read again without a difference") {
  const MachineSpec machine = profiled_machine();
  const std::string text = write_machine(machine);
  CHECK(fits_schema(text));
  MachineSpec again = read_machine(text, "again.json");
  auto& profile = again.platform.devices[DeviceId{0}].profile;
  const auto& original = machine.platform.devices[DeviceId{0}].profile;
  REQUIRE(profile != nullptr);
  CHECK(*profile == *original);
  profile = original;  // devices compare profiles by identity
  CHECK(again == machine);
}

TEST_CASE("nearer caches have no more than farther ones, and longer distances find no more") {
  const std::string good = write_machine(profiled_machine());
  CHECK_THROWS_WITH_AS(
      static_cast<void>(read_machine(
          replaced(good, "\"bytes_unit_cached\":500", "\"bytes_unit_cached\":1001"), "m.json")),
      doctest::Contains("/profile/samples/0/bytes_unit_cached"),
      InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_machine(
                           replaced(good, "\"share\": 0.125", "\"share\": 0.8"), "m.json")),
                       doctest::Contains("/profile/cache_curve/2/share"),
                       InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_machine(
                           replaced(good, "\"distance\": 2", "\"distance\": 0.9"), "m.json")),
                       doctest::Contains("/profile/cache_curve/2/distance"),
                       InputError);
}

TEST_CASE("a wrong profile is refused by place") {
  const std::string good = write_machine(profiled_machine());
  const auto message = [&](const std::string& from, const std::string& to) {
    const std::string text = replaced(good, from, to);
    CHECK_FALSE(fits_schema(text));
    try {
      static_cast<void>(read_machine(text, "m.json"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"no error"};
  };
  CHECK(message("\"noise\": 0.0123", "\"noise\": -1").find("m.json: /profile/noise") !=
        std::string::npos);
  CHECK(
      message("\"kind\":\"pointwise\"", "\"kind\":\"pontwise\"").find("/profile/samples/0/kind") !=
      std::string::npos);
  CHECK(message("\"bytes_cached\":1000", "\"bytes_cached\":-1")
            .find("/profile/samples/0/bytes_cached") != std::string::npos);
  CHECK(message("\"bytes_unit_cached\":500", "\"bytes_unit_cached\":-1")
            .find("/profile/samples/0/bytes_unit_cached") != std::string::npos);
  CHECK(message("\"share\": 0.75", "\"share\": 1.75").find("/profile/cache_curve/1/share") !=
        std::string::npos);
  CHECK(message("\"blocks\":1", "\"blocks\":0").find("/profile/samples/0/blocks") !=
        std::string::npos);
  CHECK(message("\"measured\": \"made up for a test\",", "").find("/profile/measured") !=
        std::string::npos);
  CHECK(message("\"noise\"", "\"noize\"").find("noi") != std::string::npos);
  CHECK(message("\"gemm\": 1.05", "\"gem\": 1.05").find("unknown kind \"gem\"") !=
        std::string::npos);
}

}  // namespace schedlab
