// SPDX-License-Identifier: Apache-2.0
// Simulates specs as an outsider does and writes the metrics of each: simulate_specs OUT SPEC...
#include "studies/scenario/simulation.hpp"
#include "studies/spec/spec.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::filesystem::path folder = argv[1];
  try {
    for (int i = 2; i < argc; ++i) {
      const std::string spec = argv[i];
      const schedlab::Simulation made = schedlab::simulate(schedlab::load_spec(spec));
      std::ofstream(folder / std::filesystem::path(spec).filename(), std::ios::binary)
          << schedlab::metrics_json(made);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
