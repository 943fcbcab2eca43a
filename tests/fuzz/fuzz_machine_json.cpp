// SPDX-License-Identifier: Apache-2.0
// Machine files; the corpus is the machines that ship.
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"

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
  if (read_machine(write_machine(machine), "again.json") == machine) return 0;
  std::cerr << "writing and reading again changes the machine\n";
  std::abort();
}
