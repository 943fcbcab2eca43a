// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent_entries.hpp"

#include "workloads/common_transforms.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/models/recurrent/separate_gates.hpp"
#include "workloads/workload_entries.hpp"

#include <utility>

namespace schedlab {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> pass_names{"forward", "backward", "training"};
constexpr std::array<std::string_view, 3> bidirectional_names{"none", "first", "all"};
constexpr std::array<std::string_view, 2> reset_names{"after", "before"};
constexpr std::array<std::string_view, 2> memory_words{"pinned", "pageable"};

std::vector<OptionSpec> recurrent_options() {
  std::vector<OptionSpec> options{
      detail::size_option("layers", 4, "layers of the network", 1, 32767),
      detail::size_option("steps", 50, "unrolled time steps"),
      detail::size_option("batch", 64, "sequences trained at once"),
      detail::size_option("hidden", 1024, "width of the hidden state, of each direction"),
      detail::size_option("input", 0, "width of the input of layer 0; 0: as hidden", 0),
      {.name = "bidirectional",
       .default_value = std::string{"none"},
       .doc = "layers that also run from the last step to the first",
       .allowed = detail::allowed(bidirectional_names)},
      {.name = "data_type",
       .default_value = std::string{"fp32"},
       .doc = "type of all elements",
       .allowed = enum_names<DataType>()},
      {.name = "pass",
       .default_value = std::string{"backward"},
       .doc = "part of a training step that is scheduled",
       .allowed = detail::allowed(pass_names)}};
  detail::add_cut_options(options);
  options.push_back(detail::size_option(
      "input_steps",
      1,
      "steps of a layer whose input products (backward, between kernels: those for "
      "the layer below) are one product; 0: all",
      0));
  options.push_back(detail::size_option("hidden_2_steps",
                                        1,
                                        "steps of a layer whose products for the layer below, "
                                        "where they are tasks, are one product; 0: all; 1: as "
                                        "input_steps says",
                                        0));
  options.push_back(detail::size_option(
      "hidden_1_slices",
      1,
      "parts into which the sums of the product for the step before are cut; the next cell adds "
      "the parts"));
  options.push_back(detail::size_option(
      "weight_units", 0, "units that a product for weight gradients may use; 0: all", 0, 65535));
  options.push_back({.name = "k_major",
                     .default_value = false,
                     .doc = "copies of what is multiplied for weight gradients are made with rows "
                            "along the sum, which tensor cores read fastest in tf32"});
  options.push_back(detail::size_option(
      "last_accumulation_steps",
      0,
      "accumulation_steps of the lowest layer, whose weight gradients come last; 0: as the others",
      0));
  options.push_back({.name = "separate_gates",
                     .default_value = false,
                     .doc = "of an LSTM's pass backward at granularity matmul: the gradients of "
                            "cell state and gates are tasks of their own"});
  options.push_back(
      {.name = "gate_products",
       .default_value = false,
       .doc = "of separate_gates: each product is one for each gate, the finest cut"});
  detail::add_training_options(options, Optimizer::sgd, "of pass training: ");
  options.push_back({.name = "recompute",
                     .default_value = std::string{to_string(Recompute::keep_backward)},
                     .doc = "of pass training: what the forward pass keeps for the backward pass, "
                            "which computes the rest once more",
                     .allowed = enum_names<Recompute>()});
  options.push_back(detail::size_option("checkpoints",
                                        0,
                                        "steps whose state recompute optimal keeps, besides the "
                                        "first input; 0: as many as sqrt",
                                        0));
  options.push_back(detail::size_option("truncate_steps",
                                        0,
                                        "of pass training: steps of a segment that no gradient "
                                        "leaves (truncated back-propagation); 0: none",
                                        0));
  options.push_back({.name = "host_memory",
                     .default_value = std::string{"pinned"},
                     .doc = "of pass training: where the batch comes from and the loss goes to; "
                            "pageable: a host thread copies it and waits",
                     .allowed = detail::allowed(memory_words)});
  return options;
}

RecurrentSpec spec_from(const Options& o) {
  const RecurrentCut cut = detail::cut_from(o);
  RecurrentSpec spec;
  spec.layers = o.integer("layers");
  spec.steps = o.integer("steps");
  spec.batch = o.integer("batch");
  spec.hidden = o.integer("hidden");
  spec.input = o.integer("input");
  spec.type = enum_value<DataType>(o.text("data_type"));
  spec.pass = detail::name_to(pass_names, o.text("pass"), RecurrentPass::backward);
  spec.granularity = cut.granularity;
  spec.accumulation = cut.accumulation;
  spec.accumulation_steps = cut.accumulation_steps;
  spec.partial_buffers = cut.partial_buffers;
  spec.buffer_order = cut.buffer_order;
  spec.input_steps = o.integer("input_steps");
  spec.hidden_2_steps = o.integer("hidden_2_steps");
  spec.hidden_1_slices = o.integer("hidden_1_slices");
  spec.weight_units = o.integer("weight_units");
  spec.k_major = o.flag("k_major");
  spec.last_accumulation_steps = o.integer("last_accumulation_steps");
  spec.separate_gates = o.flag("separate_gates");
  spec.bidirectional =
      detail::name_to(bidirectional_names, o.text("bidirectional"), Bidirectional::none);
  spec.optimizer = detail::optimizer_from(o);
  spec.transfers = o.flag("include_transfers");
  spec.pageable = o.text("host_memory") == "pageable";
  spec.recompute = enum_value<Recompute>(o.text("recompute"));
  spec.checkpoints = o.integer("checkpoints");
  spec.truncate_steps = o.integer("truncate_steps");
  spec.tensors = o.flag("include_tensors");
  return spec;
}

RecurrentSpec lstm_spec_from(const Options& o) {
  RecurrentSpec spec = spec_from(o);
  spec.projection = o.integer("projection");
  return spec;
}

RecurrentSpec gru_spec_from(const Options& o) {
  RecurrentSpec spec = spec_from(o);
  spec.cell = o.text("reset") == "after" ? RecurrentCell::gru : RecurrentCell::gru_reset_before;
  return spec;
}

TaskGraph graph_of(const RecurrentSpec& spec, const Options& o) {
  return o.flag("gate_products") ? recurrent_by_gate(spec) : recurrent(spec);
}

}  // namespace

WorkloadInfo lstm_workload() {
  std::vector<OptionSpec> options = recurrent_options();
  options.push_back(
      detail::size_option("projection",
                          0,
                          "width to which each layer's output is projected, which the "
                          "next step and the next layer read; 0: none",
                          0));
  return {.name = "lstm",
          .summary =
              "LSTM of any size, one direction or two, forward, backward or a whole training "
              "step, cut as TurboLSTM cuts it",
          .options = std::move(options),
          .make = [](const Options& o) { return graph_of(lstm_spec_from(o), o); }};
}

WorkloadInfo gru_workload() {
  std::vector<OptionSpec> options = recurrent_options();
  options.push_back({.name = "reset",
                     .default_value = std::string{"after"},
                     .doc = "where the reset gate applies: to the recurrent product, as libraries "
                            "do, or to the state before it, as published",
                     .allowed = detail::allowed(reset_names)});
  return {.name = "gru",
          .summary = "GRU of any size, one direction or two, cut like the LSTM",
          .options = std::move(options),
          .make = [](const Options& o) { return graph_of(gru_spec_from(o), o); }};
}

std::optional<RecurrentSpec> recurrent_spec(std::string_view workload, const Options& options) {
  if (workload != "lstm" && workload != "gru") return std::nullopt;
  // Only the generator's tasks can be computed.
  const bool apart = options.flag("separate_gates") || options.flag("gate_products");
  const auto split = options.values().find("split");
  const bool whole =
      split == options.values().end() || split->second == OptionValue{std::int64_t{1}};
  if (apart || !whole || changes_tasks(options)) return std::nullopt;
  if (workload == "lstm") return lstm_spec_from(options);
  if (workload == "gru") return gru_spec_from(options);
  return std::nullopt;
}

RecurrentNames network_names(const RecurrentSpec& spec) {
  const auto word = [](const auto& words, auto value) {
    return std::string{words[static_cast<std::size_t>(value)]};
  };
  const bool lstm = spec.cell == RecurrentCell::lstm;
  RecurrentNames words{.workload = lstm ? "lstm" : "gru",
                       .options = {{"pass", word(pass_names, spec.pass)},
                                   {"layers", spec.layers},
                                   {"steps", spec.steps},
                                   {"batch", spec.batch},
                                   {"hidden", spec.hidden},
                                   {"input", spec.input == 0 ? spec.hidden : spec.input},
                                   {"bidirectional", word(bidirectional_names, spec.bidirectional)},
                                   {"data_type", std::string{to_string(spec.type)}}}};
  if (spec.projection > 0) words.options.emplace_back("projection", spec.projection);
  if (!lstm) {
    const bool before = spec.cell == RecurrentCell::gru_reset_before;
    words.options.emplace_back("reset", word(reset_names, before ? 1 : 0));
  }
  return words;
}

}  // namespace schedlab
