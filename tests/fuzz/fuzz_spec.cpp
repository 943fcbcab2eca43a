// SPDX-License-Identifier: Apache-2.0
// Specs: whatever is wrong is said by an InputError, before anything runs.
#include "sim/base/error.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace schedlab;
  try {
    const Spec spec =
        parse_spec(std::string{reinterpret_cast<const char*>(data), size}, "fuzz.json");
    const Grid grid(spec, result_column_names(true));
    Components(spec, grid).check_all();
    static_cast<void>(grid.describe(grid.size() - 1));
  } catch (const InputError& error) {
    if (std::string{error.what()}.find("fuzz.json") == std::string::npos) {
      std::cerr << "no word of the file: " << error.what() << '\n';
      std::abort();
    }
  }
  return 0;
}
