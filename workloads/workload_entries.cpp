// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload_entries.hpp"

#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/families/grid.hpp"
#include "workloads/families/random_layered.hpp"
#include "workloads/formats/graph_file.hpp"

#include <string>

namespace schedlab {

using detail::number_option;
using detail::size_option;

WorkloadInfo grid_workload() {
  return {
      .name = "grid",
      .summary =
          "theory graph of back-propagation: layers x steps equal tasks, each after its upper and "
          "its later neighbour",
      .options = {size_option("layers", 4, "rows of the grid", 1, 32767),
                  size_option("steps", 5, "columns of the grid", 1, 65536),
                  {.name = "duration_us",
                   .default_value = 10.0,
                   .doc = "duration of every task",
                   .minimum = 0,
                   .maximum = 1e9}},
      .make = [](const Options& o) {
        return grid(o.integer("layers"), o.integer("steps"), from_us(o.number("duration_us")));
      }};
}

WorkloadInfo random_layered_workload() {
  return {.name = "random_layered",
          .summary = "random tasks in layers, the same for equal seeds on every machine",
          .options =
              {size_option("seed", 1, "of the random numbers", 0, 9e15),
               size_option("layers", 10, "layers of tasks", 1, 32767),
               size_option("width", 10, "tasks in each layer", 1, 65536),
               number_option(
                   "edge_probability", 0.3, "of each pair of tasks in neighbouring layers", 0, 1),
               number_option("shortest_us", 1, "lower end of the durations", 0, 1e9),
               number_option("longest_us", 10, "upper end of the durations", 0, 1e9),
               number_option("critical_share", 0.5, "share of tasks that are critical", 0, 1)},
          .make = [](const Options& o) {
            RandomLayeredSpec spec;
            spec.seed = static_cast<std::uint64_t>(o.integer("seed"));
            spec.layers = o.integer("layers");
            spec.width = o.integer("width");
            spec.edge_probability = o.number("edge_probability");
            spec.shortest = from_us(o.number("shortest_us"));
            spec.longest = from_us(o.number("longest_us"));
            spec.critical_share = o.number("critical_share");
            if (spec.longest < spec.shortest) {
              throw InputError({.file = {},
                                .pointer = "/longest_us",
                                .found = to_string(OptionValue{o.number("longest_us")}),
                                .expected = "at least shortest_us, which is " +
                                            to_string(OptionValue{o.number("shortest_us")}),
                                .hint = {}});
            }
            return random_layered(spec);
          }};
}

namespace {

std::vector<OptionSpec> file_options() {
  std::vector<OptionSpec> options{{.name = "path",
                                   .default_value = std::string{},
                                   .doc = "the file, from the folder the program runs in",
                                   .required = true}};
  detail::add_transform_options(options);
  return options;
}

}  // namespace

WorkloadInfo file_workload() {
  return {
      .name = "file",
      .summary =
          "graph file: JSON, compact text, DOT, Standard Task Graph Set, execution trace, Chakra "
          "or WfFormat, also compressed",
      .options = file_options(),
      .make = [](const Options& o) {
        return transformed(read_graph_file(o.text("path")),
                           detail::transforms_from(o, DataType::fp32));
      }};
}

}  // namespace schedlab
