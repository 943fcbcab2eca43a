// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/check_graph.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/traces/foreign_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace schedlab;
  const std::string text{reinterpret_cast<const char*>(data), size};
  testing::check_reader([&] { return read_foreign_graph(text, "fuzz.json").graph; },
                        [](const TaskGraph& graph) {
                          return testing::difference(
                              graph, read_graph_json(write_graph_json(graph), "again.json"));
                        });
  return 0;
}
