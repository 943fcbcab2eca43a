// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload_entries.hpp"

#include "sim/base/error.hpp"
#include "workloads/graph_file.hpp"
#include "workloads/grid.hpp"
#include "workloads/lstm.hpp"
#include "workloads/random_layered.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace schedlab {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> pass_words{"forward", "backward", "training"};
constexpr std::array<std::string_view, 4> granularity_words{
    "coarse", "fine", "matmul", "data_and_weight"};
constexpr std::array<std::string_view, 3> accumulation_words{"ordered", "partial", "batched"};
constexpr std::array<std::string_view, 2> buffer_order_words{"chained", "by_plan"};

template <class Enum, std::size_t n>
Enum word_to(const std::array<std::string_view, n>& words, std::string_view word, Enum automatic) {
  if (word == "auto") return automatic;
  const auto found = std::find(words.begin(), words.end(), word);
  SCHEDLAB_EXPECTS(found != words.end(), std::string{word});
  return static_cast<Enum>(found - words.begin());
}

template <std::size_t n>
std::vector<std::string> allowed(const std::array<std::string_view, n>& words, bool automatic) {
  std::vector<std::string> all;
  if (automatic) all.emplace_back("auto");
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

OptionSpec size_option(
    std::string name, std::int64_t value, std::string doc, double minimum, double maximum) {
  return {.name = std::move(name),
          .default_value = value,
          .doc = std::move(doc),
          .minimum = minimum,
          .maximum = maximum};
}

TaskGraph make_lstm(const Options& o) {
  LstmSpec spec;
  spec.layers = o.integer("layers");
  spec.steps = o.integer("steps");
  spec.batch = o.integer("batch");
  spec.hidden = o.integer("hidden");
  spec.input = o.integer("input");
  spec.type = data_type_from(o.text("data_type"));
  spec.pass = word_to(pass_words, o.text("pass"), LstmPass::backward);
  spec.granularity = word_to(granularity_words, o.text("granularity"), Granularity::fine);
  spec.accumulation = word_to(accumulation_words, o.text("accumulation"), Accumulation::ordered);
  spec.accumulation_steps = o.integer("accumulation_steps");
  spec.partial_buffers = o.integer("partial_buffers");
  spec.buffer_order = word_to(buffer_order_words, o.text("buffer_order"), BufferOrder::chained);
  spec.transfers = o.flag("include_transfers");
  spec.tensors = o.flag("include_tensors");
  return lstm(spec);
}

constexpr double most = 1 << 24;

}  // namespace

WorkloadInfo lstm_workload() {
  return {
      .name = "lstm",
      .summary =
          "LSTM of any size, forward, backward or a whole training step, cut as TurboLSTM cuts it",
      .options =
          {
              size_option("layers", 4, "layers of the network", 1, 32767),
              size_option("steps", 50, "unrolled time steps", 1, most),
              size_option("batch", 64, "sequences trained at once", 1, most),
              size_option("hidden", 1024, "width of the hidden state", 1, most),
              size_option("input", 0, "width of the input of layer 0; 0: as hidden", 0, most),
              {.name = "data_type",
               .default_value = std::string{"fp32"},
               .doc = "type of all elements",
               .allowed = data_type_names()},
              {.name = "pass",
               .default_value = std::string{"backward"},
               .doc = "part of a training step that is scheduled",
               .allowed = allowed(pass_words, false)},
              {.name = "granularity",
               .default_value = std::string{"auto"},
               .doc =
                   "how finely a node is cut into tasks; auto: as the policy wants it, else fine",
               .allowed = allowed(granularity_words, true)},
              {.name = "accumulation",
               .default_value = std::string{"auto"},
               .doc = "how weight gradients are summed over steps; auto: ordered",
               .allowed = allowed(accumulation_words, true)},
              size_option("accumulation_steps",
                          8,
                          "steps in one weight GEMM, of accumulation batched",
                          1,
                          most),
              size_option("partial_buffers",
                          2,
                          "buffers per weight matrix, of accumulation partial",
                          1,
                          4096),
              {.name = "buffer_order",
               .default_value = std::string{"chained"},
               .doc = "who orders the tasks that add into one buffer: the graph or the plan",
               .allowed = allowed(buffer_order_words, false)},
              {.name = "include_transfers",
               .default_value = true,
               .doc = "of pass training: copy the batch to the device and the loss back"},
              {.name = "include_tensors",
               .default_value = true,
               .doc = "false: dependencies only, no memory accounting"},
          },
      .make = make_lstm};
}

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
  const auto duration = [](std::string name, double value, std::string doc) {
    return OptionSpec{.name = std::move(name),
                      .default_value = value,
                      .doc = std::move(doc),
                      .minimum = 0,
                      .maximum = 1e9};
  };
  const auto share = [](std::string name, double value, std::string doc) {
    return OptionSpec{.name = std::move(name),
                      .default_value = value,
                      .doc = std::move(doc),
                      .minimum = 0,
                      .maximum = 1};
  };
  return {
      .name = "random_layered",
      .summary = "random tasks in layers, the same for equal seeds on every machine",
      .options = {size_option("seed", 1, "of the random numbers", 0, 9e15),
                  size_option("layers", 10, "layers of tasks", 1, 32767),
                  size_option("width", 10, "tasks in each layer", 1, 65536),
                  share("edge_probability", 0.3, "of each pair of tasks in neighbouring layers"),
                  duration("shortest_us", 1, "lower end of the durations"),
                  duration("longest_us", 10, "upper end of the durations"),
                  share("critical_share", 0.5, "share of tasks that are critical")},
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

WorkloadInfo file_workload() {
  return {.name = "file",
          .summary =
              "graph file: JSON, compact text or Standard Task Graph Set, by extension and content",
          .options = {{.name = "path",
                       .default_value = std::string{},
                       .doc = "the file, from the folder the program runs in",
                       .required = true}},
          .make = [](const Options& o) { return read_graph_file(o.text("path")); }};
}

}  // namespace schedlab
