// SPDX-License-Identifier: Apache-2.0
#include "workloads/entry_options.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> granularity_names{
    "coarse", "fine", "matmul", "data_and_weight", "kernel_and_weight"};
constexpr std::array<std::string_view, 3> accumulation_names{"ordered", "partial", "batched"};
constexpr std::array<std::string_view, 2> buffer_order_names{"chained", "by_plan"};
constexpr std::array<std::string_view, 2> optimizer_names{"sgd", "adam"};

}  // namespace

OptionSpec size_option(
    std::string name, std::int64_t value, std::string doc, double minimum, double maximum) {
  return {.name = std::move(name),
          .default_value = value,
          .doc = std::move(doc),
          .minimum = minimum,
          .maximum = maximum};
}

OptionSpec number_option(
    std::string name, double value, std::string doc, double minimum, double maximum) {
  return {.name = std::move(name),
          .default_value = value,
          .doc = std::move(doc),
          .minimum = minimum,
          .maximum = maximum};
}

OptionSpec split_option(std::int64_t value) {
  constexpr double most = 4096;
  return size_option("split",
                     value,
                     "slices of the batch, each with a copy of the graph, gradients are merged; "
                     "simulate also takes \"auto\": the number that is fastest",
                     1,
                     most);
}

void add_cut_options(std::vector<OptionSpec>& options) {
  options.push_back(
      {.name = "granularity",
       .default_value = std::string{"auto"},
       .doc = "how finely a node is cut into tasks; auto: as the policy wants it, else fine",
       .allowed = allowed(granularity_names, true)});
  options.push_back({.name = "accumulation",
                     .default_value = std::string{"auto"},
                     .doc = "how weight gradients are summed over steps; auto: ordered",
                     .allowed = allowed(accumulation_names, true)});
  options.push_back(
      size_option("accumulation_steps", 8, "steps in one weight GEMM, of accumulation batched"));
  options.push_back(size_option(
      "partial_buffers", 2, "buffers per weight matrix, of accumulation partial", 1, 4096));
  options.push_back({.name = "buffer_order",
                     .default_value = std::string{"chained"},
                     .doc = "who orders the tasks that add into one buffer: the graph or the plan",
                     .allowed = allowed(buffer_order_names)});
}

RecurrentCut cut_from(const Options& o) {
  return {
      .granularity = name_to(granularity_names, o.text("granularity"), Granularity::fine),
      .accumulation = name_to(accumulation_names, o.text("accumulation"), Accumulation::ordered),
      .accumulation_steps = o.integer("accumulation_steps"),
      .partial_buffers = o.integer("partial_buffers"),
      .buffer_order = name_to(buffer_order_names, o.text("buffer_order"), BufferOrder::chained)};
}

void add_training_options(std::vector<OptionSpec>& options,
                          Optimizer optimizer,
                          std::string_view applies) {
  const std::string prefix{applies};
  options.push_back(
      {.name = "optimizer",
       .default_value = std::string{optimizer_names[static_cast<std::size_t>(optimizer)]},
       .doc = prefix + "what an update costs",
       .allowed = allowed(optimizer_names)});
  options.push_back({.name = "include_transfers",
                     .default_value = true,
                     .doc = prefix + "copy the batch to the device and the loss back"});
  options.push_back({.name = "include_tensors",
                     .default_value = true,
                     .doc = "false: dependencies only, no memory accounting"});
}

Optimizer optimizer_from(const Options& options) {
  return name_to(optimizer_names, options.text("optimizer"), Optimizer::sgd);
}

void add_transform_options(std::vector<OptionSpec>& options) {
  options.push_back({.name = "remove_dead",
                     .default_value = false,
                     .doc = "leave out tasks whose results are unused"});
  options.push_back({.name = "mixed_precision",
                     .default_value = std::string{"off"},
                     .doc = "compute in this type, with casts before updates and of parameters",
                     .allowed = {"off", "fp16", "bf16"}});
  options.push_back({.name = "fuse_pointwise",
                     .default_value = false,
                     .doc = "join point-wise tasks that hand their result to one other only"});
}

GraphTransforms transforms_from(const Options& options, DataType type) {
  GraphTransforms transforms;
  transforms.remove_dead = options.flag("remove_dead");
  transforms.fuse_pointwise = options.flag("fuse_pointwise");
  transforms.wide = type;
  const std::string& word = options.text("mixed_precision");
  if (word == "off") return transforms;
  transforms.mixed_precision = enum_value<DataType>(word);
  if (bytes_per_element(*transforms.mixed_precision) >= bytes_per_element(type)) {
    throw InputError({.file = {},
                      .pointer = "/mixed_precision",
                      .found = fmt::format("{} with elements of {}", word, to_string(type)),
                      .expected = "a narrower type than data_type, or off",
                      .hint = {}});
  }
  return transforms;
}

}  // namespace schedlab::detail
