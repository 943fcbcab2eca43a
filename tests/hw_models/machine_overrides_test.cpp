// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "hw_models/node_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

/// Of a task that has a duration and no kernels.
CostTable::Entry entry_of_a_task(const MachineSpec& machine) {
  TaskGraphBuilder builder;
  builder.set_duration(builder.add_task(builder.add_operation({.name = "task"})), Duration{1});
  const TaskGraph graph = std::move(builder).build();
  return CostTable{graph, machine.platform, TiledGemm{}}.entry(TaskId{0});
}

CostTable::Entry entry_of_a_product(const MachineSpec& machine) {
  TaskGraphBuilder builder;
  builder.add_task(
      builder.add_operation({.name = "product",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(8192, 8192, 64, DataType::fp32, false)}}));
  const TaskGraph graph = std::move(builder).build();
  return CostTable{graph, machine.platform, TiledGemm{}}.entry(TaskId{0});
}

}  // namespace

TEST_CASE("an override changes its number, keeps the others and is recorded as assumed") {
  const MachineSpec before = load_machine("v100");
  MachineSpec machine = before;
  apply_overrides(machine, {{"connections", std::int64_t{32}}, {"launch_us", 2.5}});

  MachineSpec expected = before;
  expected.platform.devices[DeviceId{0}].connections = 32;
  expected.platform.hosts[HostId{0}].costs.launch = Duration{2'500'000};
  CHECK(machine.platform == expected.platform);

  CHECK(machine.sources.size() == before.sources.size());
  const auto source = std::ranges::find(
      machine.sources, std::string{"/device/connections"}, &NumberSource::pointer);
  REQUIRE(source != machine.sources.end());
  CHECK(*source == NumberSource{"/device/connections", 32, Origin::assumed, "set by the scenario"});
}

TEST_CASE("without overrides a machine stays as it is") {
  MachineSpec machine = load_machine("h200");
  const MachineSpec before = machine;  // profiles are compared by identity
  apply_overrides(machine, {});
  CHECK(machine == before);
  apply_overrides(machine, {{"unlimited_units", false}});
  CHECK(machine == before);
}

TEST_CASE("a node gives a machine its links with their origins, and nothing else") {
  const MachineSpec own = load_machine("h100");
  MachineSpec same = own;
  apply_overrides(same, {{"node", std::string{"own"}}});
  CHECK(same == own);
  // The file of the H100 describes a DGX H100 without rails.
  MachineSpec dgx = own;
  apply_overrides(dgx, {{"node", std::string{"dgx_h100"}}, {"leaf_oversubscription", 2.0}});
  Platform expected = own.platform;
  expected.network.rails = true;
  expected.network.leaf_oversubscription = 2;
  CHECK(dgx.platform == expected);
  for (const std::string& name : node_names()) {
    if (name == "own") continue;
    CAPTURE(name);
    CHECK(node_spec(name).name == name);
    // A device without a network gets one.
    MachineSpec machine = load_machine("v100");
    const Device device = machine.platform.devices[DeviceId{0}];
    apply_overrides(machine, {{"node", name}});
    CHECK(machine.platform.devices[DeviceId{0}] == device);
    CHECK(machine.platform.network.topology == Topology::nvlink_node);
    for (const NumberSource& number : node_spec(name).numbers) {
      CHECK(std::ranges::find(machine.sources, number) != machine.sources.end());
    }
    CHECK(read_machine(write_machine(machine), "again.json").platform.network ==
          machine.platform.network);
  }
}

TEST_CASE("the sharing model can be chosen; graphics cards come with the fluid one") {
  MachineSpec machine = load_machine("v100");
  CHECK(machine.platform.sharing == SharingModel::fluid);
  apply_overrides(machine, {{"sharing", std::string{"exclusive"}}});
  CHECK(machine.platform.sharing == SharingModel::exclusive);
  CHECK(load_machine("ascend_910b").platform.sharing == SharingModel::exclusive);
  CHECK_THROWS_WITH_AS(
      apply_overrides(machine, {{"sharing", std::string{"fluit"}}}),
      doctest::Contains("/sharing: found \"fluit\", expected one of exclusive, fluid, blocks"),
      InputError);
  CHECK_THROWS_WITH_AS(
      read_machine(R"({"name": "m", "device": {"name": "d", "sharing": "exclusiv"}})", "m.json"),
      doctest::Contains("m.json: /device/sharing: found \"exclusiv\""),
      InputError);
}

TEST_CASE("every number of the file format can be overridden under its name") {
  for (const OptionSpec& option : machine_options()) {
    if (!option.allowed.empty()) continue;  // a word
    if (option.name == "units") continue;   // ideal has none
    CAPTURE(option.name);
    MachineSpec machine = load_machine("ideal");
    std::map<std::string, OptionValue> given{{option.name, true}};
    if (std::holds_alternative<double>(option.default_value)) given[option.name] = 0.5;
    if (std::holds_alternative<std::int64_t>(option.default_value)) {
      given[option.name] = std::max<std::int64_t>(3, static_cast<std::int64_t>(option.minimum));
    }
    apply_overrides(machine, given);
    if (option.name != "unlimited_units") CHECK_FALSE(machine == load_machine("ideal"));
  }
}

TEST_CASE("the numbers on a data sheet can be set: multiprocessors, peaks, bandwidth") {
  MachineSpec machine = load_machine("v100");
  apply_overrides(machine,
                  {{"units", std::int64_t{128}},
                   {"matrix_fp16_tflop_per_s", 330.0},
                   {"vector_fp32_tflop_per_s", 82.6},
                   {"memory_bandwidth_gb_per_s", 1008.0}});
  const Device& device = machine.platform.devices[DeviceId{0}];
  CHECK(device.unit_classes[device.unit_class_of[static_cast<std::size_t>(TaskKind::gemm)]].count ==
        128);
  CHECK(device.rates.matrix_units == 128);
  CHECK(device.rates.vector_units == 128);
  CHECK(device.rates.matrix[static_cast<std::size_t>(DataType::fp16)].count() == 330e12);
  CHECK(device.rates.vector[static_cast<std::size_t>(DataType::fp32)].count() == 82.6e12);
  CHECK(device.rates.memory.count() == 1008e9);
  // A machine read from a file with these numbers is the same one.
  MachineSpec again = read_machine(write_machine(machine), "again.json");
  again.platform.devices[DeviceId{0}].profile =
      machine.platform.devices[DeviceId{0}].profile;  // compared by identity
  CHECK(again.platform == machine.platform);
}

TEST_CASE("unlimited units run each kernel as if alone and leave its duration as it was") {
  const Operation gemm{.name = "gemm",
                       .kind = TaskKind::gemm,
                       .kernels = {gemm_kernel(64, 1024, 4096, DataType::fp32, false)}};
  const MachineSpec limited = load_machine("v100");
  MachineSpec unlimited = limited;
  apply_overrides(unlimited, {{"unlimited_units", true}});
  const Device& device = unlimited.platform.devices[DeviceId{0}];
  for (const UnitClass& unit_class : device.unit_classes) CHECK(unit_class.count == 0);
  CHECK(TiledGemm{}.estimate(gemm, device) ==
        TiledGemm{}.estimate(gemm, limited.platform.devices[DeviceId{0}]));
}

TEST_CASE("units counts those that matrix products run on, of which a task holds one or all") {
  MachineSpec machine = load_machine("processors");
  CHECK(entry_of_a_task(machine).units == 1);
  apply_overrides(machine, {{"units", std::int64_t{16}}});
  CHECK(machine.platform.devices[DeviceId{0}].unit_classes.begin()->count == 16);
  CHECK(entry_of_a_task(machine).units == 1);
  MachineSpec card = load_machine("v100");
  CHECK(entry_of_a_product(card).units == 80);
  apply_overrides(card, {{"units", std::int64_t{40}}});
  CHECK(card.platform.devices[DeviceId{0}].rates.matrix_units == 40);
  CHECK(entry_of_a_product(card).units == 40);
  MachineSpec none = load_machine("ideal");
  CHECK_THROWS_WITH_AS(
      apply_overrides(none, {{"units", std::int64_t{40}}}),
      doctest::Contains("/units: found machine ideal, whose matrix products run on no units"),
      InputError);
}

TEST_CASE("a wrong override names the machine's number that was meant") {
  MachineSpec machine = load_machine("v100");
  const MachineSpec unchanged = machine;
  CHECK_THROWS_WITH_AS(apply_overrides(machine, {{"conections", std::int64_t{8}}}),
                       doctest::Contains("did you mean \"connections\"?"),
                       InputError);
  CHECK_THROWS_AS(apply_overrides(machine, {{"connections", std::int64_t{-1}}}), InputError);
  CHECK_THROWS_AS(apply_overrides(machine, {{"connections", 8.5}}), InputError);
  CHECK(machine == unchanged);
}

}  // namespace schedlab
