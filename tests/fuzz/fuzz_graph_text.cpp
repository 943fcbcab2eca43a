// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/check_graph.hpp"
#include "workloads/formats/graph_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace schedlab;
  const std::string text{reinterpret_cast<const char*>(data), size};
  testing::check_reader([&] { return read_graph_text(text, "fuzz.txt"); },
                        [](const TaskGraph& graph) {
                          return testing::difference(
                              graph, read_graph_text(write_graph_text(graph), "again.txt"));
                        });
  return 0;
}
