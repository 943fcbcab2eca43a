// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"

#include "hw_models/json_leaves.hpp"
#include "sim/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace schedlab {
namespace {

constexpr std::string_view minimal = R"({"name": "tiny", "device": {"name": "Tiny"}})";

std::string message_of(std::string_view text) {
  try {
    static_cast<void>(read_machine(text, "m.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// A machine with this text as the content of "device", after its name.
std::string with_device(std::string_view content) {
  return R"({"name": "tiny", "device": {"name": "Tiny", )" + std::string{content} + "}}";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every machine that the library carries loads under its own name") {
  CHECK(machine_names() ==
        std::vector<std::string>{
            "a100",     "a100_40gb",    "ascend_310p", "ascend_910a", "ascend_910b", "b200",
            "b300",     "gb200",        "h100",        "h200",        "ideal",       "l40s",
            "m40",      "manycore_cpu", "mi300x",      "mt_3000",     "p100",        "processors",
            "rtx_4090", "rtx_5090",     "sw26010_pro", "v100"});
  for (const std::string& name : machine_names()) {
    CAPTURE(name);
    const MachineSpec machine = load_machine(name);
    CHECK(machine.name == name);
    CHECK(machine.platform.name == name);
    CHECK_FALSE(machine.description.empty());
    CHECK(machine.platform.devices.size() == 1);
  }
}

TEST_CASE("every number of every machine says where it comes from") {
  for (const std::string& name : machine_names()) {
    const MachineSpec machine = load_machine(name);
    std::set<std::string> sourced;
    for (const NumberSource& source : machine.sources) {
      CAPTURE(name);
      CAPTURE(source.pointer);
      CHECK(source.text.size() >= 8);
      CHECK(source.origin != Origin::measured);
      CHECK(sourced.insert(source.pointer).second);
    }
    // And no number of the text escaped the reader: counted without it.
    for (const JsonLeaf& leaf : json_leaves(machine_text(name), name)) {
      if (!std::holds_alternative<std::int64_t>(leaf.value) &&
          !std::holds_alternative<double>(leaf.value)) {
        continue;
      }
      std::string pointer = leaf.pointer;
      for (const char* part : {"value", "low", "high"}) {
        if (last_key(leaf.pointer) == part) pointer.resize(pointer.rfind('/'));
      }
      const std::string_view list = "/intervals";  // noted as a whole
      const std::size_t at = pointer.find(list);
      if (at != std::string::npos) pointer.resize(at + list.size());
      CAPTURE(pointer);
      CHECK(sourced.contains(pointer));
    }
  }
}

TEST_CASE("a GPU spreads kernels over its SMs and keeps copies on engines of their own") {
  const MachineSpec machine = load_machine("v100");
  const Device& device = machine.platform.devices[DeviceId{0}];
  const UnitClassId sm = device.unit_class_of[static_cast<std::size_t>(TaskKind::gemm)];
  REQUIRE(sm.valid());
  CHECK(device.unit_classes[sm].name == "sm");
  CHECK(device.unit_classes[sm].count == 80);
  CHECK(device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)] == sm);
  const auto to_device =
      device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_host_to_device)];
  const auto to_host =
      device.unit_class_of[static_cast<std::size_t>(TaskKind::copy_device_to_host)];
  CHECK(to_device != sm);
  CHECK(to_device != to_host);
  CHECK_FALSE(device.unit_class_of[static_cast<std::size_t>(TaskKind::fixed)].valid());
  CHECK(device.connections == 8);
  CHECK(device.resident_kernels == 128);
  CHECK(device.memory_capacity == Bytes{32LL << 30});
  CHECK(device.rates.memory == Bandwidth{900e9});
  CHECK(device.rates.matrix[static_cast<std::size_t>(DataType::fp32)] == FlopRate{15.7e12});
  CHECK(device.rates.matrix_units == 80);
  CHECK(device.stream_gap == Duration{900'000});
  CHECK(machine.platform.host(HostId{0}).costs.launch == Duration{3'800'000});
  CHECK(machine.platform.host(HostId{0}).launch_queue_depth == 1024);
}

TEST_CASE("the Ascend runs matrix and point-wise kernels on different cores, side by side") {
  const MachineSpec machine = load_machine("ascend_910b");
  const Device& device = machine.platform.devices[DeviceId{0}];
  const auto cube = device.unit_class_of[static_cast<std::size_t>(TaskKind::gemm)];
  const auto vector = device.unit_class_of[static_cast<std::size_t>(TaskKind::pointwise)];
  CHECK(cube != vector);
  CHECK(device.unit_classes[cube].count == 24);
  CHECK(device.unit_classes[vector].count == 48);
}

TEST_CASE("the machine \"ideal\" has no cost, gap or limit besides its rates") {
  Platform platform = load_machine("ideal").platform;
  platform.devices[DeviceId{0}].rates = {};
  Platform expected = ideal_platform(8);
  CHECK(platform == expected);
}

TEST_CASE("what a machine file leaves out costs nothing and limits nothing") {
  const MachineSpec machine = read_machine(minimal, "m.json");
  Platform expected = ideal_platform();
  expected.name = "tiny";
  expected.devices[DeviceId{0}].name = "Tiny";
  CHECK(machine.platform == expected);
  CHECK(machine.sources.empty());
}

TEST_CASE("a number without its source is refused") {
  for (const std::string_view content :
       {R"("connections": 8)",
        R"("connections": {"value": 8})",
        R"("connections": {"value": 8, "source": ""})",
        R"("connections": {"value": 8, "source": "a", "assumed": "b"})",
        R"("gemm_tiles": [{"m": 8, "n": 8, "efficiency": 1}])"}) {
    CAPTURE(content);
    const std::string message = message_of(with_device(content));
    CAPTURE(message);
    CHECK(message.starts_with("m.json: /device/"));
    CHECK(contains(message, "source"));
  }
}

TEST_CASE("a wrong value is refused by its pointer, with what would be right") {
  const std::string negative =
      message_of(with_device(R"("stream_gap_us": {"value": -1, "source": "s"})"));
  CHECK(contains(negative, "/device/stream_gap_us/value"));
  CHECK(contains(negative, "found -1"));
  const std::string fraction =
      message_of(with_device(R"("connections": {"value": 8.5, "source": "s"})"));
  CHECK(contains(fraction, "a whole number"));
  const std::string efficiency =
      message_of(with_device(R"("memory_efficiency": {"value": 1.5, "source": "s"})"));
  CHECK(contains(efficiency, "from 0.01 to 1"));
  const std::string word =
      message_of(with_device(R"("connections": {"value": "8", "source": "s"})"));
  CHECK(contains(word, "found \"8\""));
  CHECK(contains(message_of(R"({"device": {"name": "x"}})"), "/name"));
  CHECK(contains(message_of("[]"), "m.json"));
  CHECK(contains(message_of("3"), "m.json"));
  CHECK(contains(message_of(R"({"name": "x", "device": 3})"), "/device"));
  CHECK(contains(message_of(with_device(R"("connections": {})")), "/device/connections"));
}

TEST_CASE("an unknown key is refused with the closest one that exists") {
  const std::string message =
      message_of(with_device(R"("conections": {"value": 8, "source": "s"})"));
  CAPTURE(message);
  CHECK(contains(message, "/device/conections: "));
  CHECK(contains(message, "did you mean \"connections\"?"));
  CHECK(contains(message_of(R"({"nam": "x", "name": "y", "device": {"name": "z"}})"), "/nam"));
  CHECK(contains(
      message_of(with_device(R"("connections": {"value": 8, "sorce": "s", "source": "s"})")),
      "did you mean \"source\"?"));
  CHECK(contains(
      message_of(with_device(R"("matrix_tflop_per_s": {"fp31": {"value": 8, "source": "s"}})")),
      "did you mean \"fp32\"?"));
  CHECK(contains(message_of(with_device(R"("gemm_tile": [{"m": 8}])")), "gemm_tiles"));
}

TEST_CASE("a kind of task can only run on a class of units that exists") {
  const std::string message = message_of(with_device(
      R"("unit_classes": {"cube": {"value": 24, "source": "s"}}, "runs_on": {"gemm": "cub"})"));
  CAPTURE(message);
  CHECK(contains(message, "/device/runs_on/gemm"));
  CHECK(contains(message, "did you mean \"cube\"?"));
}

TEST_CASE("a machine is named, or given as the path of its file") {
  CHECK_THROWS_WITH_AS(static_cast<void>(load_machine("v10")),
                       doctest::Contains("did you mean \"v100\"?"),
                       InputError);
  CHECK_THROWS_WITH_AS(static_cast<void>(load_machine("no/such/machine.json")),
                       doctest::Contains("no/such/machine.json"),
                       InputError);
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "machine.json";
  std::ofstream{path} << minimal;
  CHECK(load_machine(path.string()).name == "tiny");
  CHECK_THROWS_AS(static_cast<void>(load_machine("./")), InputError);
}

}  // namespace schedlab
