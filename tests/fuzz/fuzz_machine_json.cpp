// SPDX-License-Identifier: Apache-2.0
// Machine files; the corpus is the machines that ship.
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace schedlab;
  MachineSpec machine;
  try {
    machine = read_machine({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const InputError&) {
    return 0;
  }
  MachineSpec again = read_machine(write_machine(machine), "again.json");
  auto& profile = again.platform.devices[DeviceId{0}].profile;
  const auto& original = machine.platform.devices[DeviceId{0}].profile;
  const bool same =
      profile == nullptr || original == nullptr ? profile == original : *profile == *original;
  profile = original;  // devices compare profiles by identity
  if (same && again == machine) return 0;
  std::cerr << "writing and reading again changes the machine\n";
  std::abort();
}
