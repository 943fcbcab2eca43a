// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/transformer/transformer_entries.hpp"

#include "workloads/entry_options.hpp"
#include "workloads/models/transformer/transformer.hpp"
#include "workloads/workload_entries.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using detail::size_option;

constexpr std::array<std::string_view, 2> operators_names{"fused", "unfused"};

std::vector<OptionSpec> transformer_options(std::vector<OptionSpec> more) {
  std::vector<std::string> models;
  for (const TransformerModel& model : transformer_models()) models.push_back(model.name);
  const auto of_model = [](const char* name, const char* doc) {
    return size_option(name, 0, std::string{doc} + "; 0: the model's", 0);
  };
  std::vector<OptionSpec> options{
      {.name = "model",
       .default_value = models.front(),
       .doc = "sizes that are not given",
       .allowed = models},
      of_model("layers", "decoder layers"),
      of_model("hidden", "width of the hidden state"),
      of_model("heads", "attention heads; they divide hidden"),
      of_model("kv_heads", "heads of keys and values; they divide heads"),
      of_model("ffn", "width of the feed-forward network"),
      of_model("vocabulary", "words"),
      size_option("batch", 1, "sequences")};
  std::move(more.begin(), more.end(), std::back_inserter(options));
  options.push_back({.name = "data_type",
                     .default_value = std::string{"fp16"},
                     .doc = "type of all elements",
                     .allowed = enum_names<DataType>()});
  options.push_back({.name = "operators",
                     .default_value = std::string{"unfused"},
                     .doc = "kernels of a layer: unfused as framework code writes them, fused as "
                            "serving engines have them",
                     .allowed = detail::allowed(operators_names)});
  options.push_back(size_option(
      "small_operators", -1, "more point-wise kernels a layer; -1: the model's", -1, 10'000));
  options.push_back(
      size_option("tensor_parallel",
                  1,
                  "ranks that each layer is divided among; the machine needs a network",
                  1,
                  4096));
  options.push_back({.name = "include_tensors",
                     .default_value = true,
                     .doc = "weights, caches and intermediate results with their life times"});
  return options;
}

TransformerSpec transformer_from(const Options& o) {
  const auto& models = transformer_models();
  const auto model = std::find_if(models.begin(), models.end(), [&](const TransformerModel& m) {
    return m.name == o.text("model");
  });
  TransformerSpec spec;
  spec.shape = model->shape;  // resolve_options has checked the name
  const auto set = [&o](const char* name, std::int64_t& value) {
    if (o.integer(name) != 0) value = o.integer(name);
  };
  set("layers", spec.shape.layers);
  set("hidden", spec.shape.hidden);
  set("heads", spec.shape.heads);
  set("kv_heads", spec.shape.kv_heads);
  set("ffn", spec.shape.ffn);
  set("vocabulary", spec.shape.vocabulary);
  spec.batch = o.integer("batch");
  spec.type = enum_value<DataType>(o.text("data_type"));
  spec.operators =
      detail::name_to(operators_names, o.text("operators"), TransformerOperators::unfused);
  const std::int64_t small = o.integer("small_operators");
  spec.small_operators = small < 0 ? model->small_operators : small;
  spec.tensors = o.flag("include_tensors");
  spec.tensor_parallel = o.integer("tensor_parallel");
  return spec;
}

}  // namespace

std::optional<TensorParallel::Options> tensor_parallel_options(std::string_view kind,
                                                               const Options& options) {
  if (kind != "llama_decode" && kind != "llama_prefill") return std::nullopt;
  const std::int64_t ranks = options.integer("tensor_parallel");
  if (ranks == 1) return std::nullopt;
  return TensorParallel::Options{.ranks = static_cast<std::uint32_t>(ranks),
                                 .joins = transformer_joins()};
}

WorkloadInfo llama_decode_workload() {
  return {.name = "llama_decode",
          .summary =
              "one token of each sequence through a transformer of LLaMA's form, with a "
              "cache of keys and values",
          .options = transformer_options(
              {size_option("context", 512, "tokens in the cache before this one", 0)}),
          .make = [](const Options& o) {
            TransformerSpec spec = transformer_from(o);
            spec.context = o.integer("context");
            return transformer_forward(spec);
          }};
}

WorkloadInfo llama_prefill_workload() {
  return {.name = "llama_prefill",
          .summary =
              "the prompts of all sequences through a transformer of LLaMA's form, which "
              "fills the cache of keys and values",
          .options = transformer_options(
              {size_option("prompt", 512, "tokens of each prompt"),
               {.name = "pass",
                .default_value = std::string{"forward"},
                .doc = "training: without a cache, the loss of all tokens, backward pass, updates",
                .allowed = {"forward", "training"}}}),
          .make = [](const Options& o) {
            TransformerSpec spec = transformer_from(o);
            spec.tokens = o.integer("prompt");
            spec.training = o.text("pass") == "training";
            return transformer_forward(spec);
          }};
}

}  // namespace schedlab
