// SPDX-License-Identifier: Apache-2.0
#include "hw_models/registry.hpp"

#include "hw_models/acceleration_engine.hpp"
#include "hw_models/fixed.hpp"
#include "hw_models/local_memory.hpp"
#include "hw_models/measured.hpp"
#include "hw_models/roofline.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/spelling.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace schedlab {
namespace {

CostModelInfo fixed() {
  return {
      .name = "fixed",
      .summary = "Theory: each operation lasts its own duration, or all the same one.",
      .options = {{.name = "duration_us",
                   .default_value = 0.0,
                   .doc = "Duration of every operation; 0 = its own.",
                   .minimum = 0,
                   .maximum = 1e12},
                  {.name = "share",
                   .default_value = 1.0,
                   .doc =
                       "Share of the units that each kernel holds, on machines with limited units.",
                   .minimum = 1e-6,
                   .maximum = 1}},
      .make = [](const Options& options) -> std::unique_ptr<CostModel> {
        return std::make_unique<FixedCost>(from_us(options.number("duration_us")),
                                           options.number("share"));
      }};
}

CostModelInfo roofline() {
  return {.name = "roofline",
          .summary =
              "Lower bound: arithmetic or memory traffic, whichever takes longer on the "
              "whole device.",
          .options = {{.name = "efficiency",
                       .default_value = 1.0,
                       .doc = "Share of the arithmetic peak that kernels reach.",
                       .minimum = 0.001,
                       .maximum = 1}},
          .make = [](const Options& options) -> std::unique_ptr<CostModel> {
            return std::make_unique<Roofline>(options.number("efficiency"));
          }};
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> layout_names{"nn", "nt", "tn"};
constexpr std::array<std::string_view, 4> library_names{
    "products", "none", "recurrent_forward", "recurrent_data_gradient"};

template <std::size_t Count>
std::size_t index_of(const std::array<std::string_view, Count>& words, std::string_view word) {
  return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

CostModelInfo tiled_gemm() {
  return {
      .name = "tiled_gemm",
      .summary =
          "Matrix kernels in tiles and waves, point-wise kernels by bandwidth, each with "
          "the share of the device it can use.",
      .options = {{.name = "split_k",
                   .default_value = default_max_split,
                   .doc = "Largest number of parts that a matrix kernel may split k into, where "
                          "that is faster; 1 = never.",
                   .minimum = 1,
                   .maximum = 64},
                  {.name = "layout",
                   .default_value = std::string{layout_names.front()},
                   .doc = "Which operand of all products is transposed, in the words of BLAS; "
                          "matters where the machine lists matrix libraries.",
                   .allowed = {layout_names.begin(), layout_names.end()}},
                  {.name = "library",
                   .default_value = std::string{library_names.front()},
                   .doc =
                       "What the machine's fitted matrix libraries are used for: products; none; "
                       "or steps of the library's recurrent layer, forward or data gradient, with "
                       "its weight gradients.",
                   .allowed = {library_names.begin(), library_names.end()}},
                  {.name = "operands",
                   .default_value = std::string{to_string(OperandReading::as_measured)},
                   .doc =
                       "Where products of the machine's pipelined libraries find their operands: "
                       "as_measured (one input, six weights in turn), warm (both as left by an "
                       "equal product) or cold (in the device's memory).",
                   .allowed = enum_names<OperandReading>()},
                  {.name = "products",
                   .default_value = std::string{to_string(ProductTimes::model)},
                   .doc = "What products of the machine's pipelined libraries take: model (the "
                          "fitted formula) or measured (with the residuals of measured products "
                          "around it, where the machine has any).",
                   .allowed = enum_names<ProductTimes>()}},
      .make = [](const Options& options) -> std::unique_ptr<CostModel> {
        return std::make_unique<TiledGemm>(GemmOptions{
            .max_split = options.integer("split_k"),
            .layout = static_cast<GemmLayout>(index_of(layout_names, options.text("layout"))),
            .library = static_cast<LibraryUse>(index_of(library_names, options.text("library"))),
            .operands = enum_value<OperandReading>(options.text("operands")),
            .products = enum_value<ProductTimes>(options.text("products"))});
      }};
}

// Costs of classes by their terms, as options; 0 = what the machine's file says.
std::string engine_option(EngineClass engine_class, std::string_view unit) {
  return fmt::format("{}_{}", to_string(engine_class), unit);
}

std::vector<OptionSpec> engine_options() {
  std::vector<OptionSpec> options;
  const auto add = [&](EngineClass engine_class, std::string_view unit, std::string_view what) {
    options.push_back(
        {.name = engine_option(engine_class, unit),
         .default_value = 0.0,
         .doc = fmt::format("{} of {} operators on one core group; 0 = by the machine.",
                            what,
                            to_string(engine_class)),
         .minimum = 0,
         .maximum = 1e9});
  };
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    const auto engine_class = static_cast<EngineClass>(i);
    const CostTerms terms = cost_terms(Processor::array, engine_class);
    if (terms.operators) add(engine_class, "operator_us", "What each takes whatever its size,");
    if (terms.bytes) add(engine_class, "gb_per_s", "Bandwidth");
    if (terms.flops) add(engine_class, "gflop_per_s", "Rate");
  }
  const AccelerationEngine::Options defaults;
  options.push_back({.name = "array_from_bytes",
                     .default_value = defaults.array_from_bytes,
                     .doc = "Operators with smaller results run on the management core.",
                     .minimum = 0,
                     .maximum = 1e12});
  options.push_back({.name = "processor",
                     .default_value = std::string{to_string(Processor::array)},
                     .doc = "array where it suits the operator, or management_core for everything.",
                     .allowed = {std::string{to_string(Processor::array)},
                                 std::string{to_string(Processor::management_core)}}});
  options.push_back({.name = "management_gflop_per_s",
                     .default_value = defaults.management_flop_per_s / 1e9,
                     .doc = "Rate of a management core.",
                     .minimum = 1e-6,
                     .maximum = 1e9});
  options.push_back({.name = "management_gb_per_s",
                     .default_value = defaults.management_bytes_per_s / 1e9,
                     .doc = "Bandwidth of a management core.",
                     .minimum = 1e-6,
                     .maximum = 1e9});
  options.push_back({.name = "framework_us",
                     .default_value = 0.0,
                     .doc = "What a framework takes for every operator beside its kernel.",
                     .minimum = 0,
                     .maximum = 1e9});
  return options;
}

std::unique_ptr<CostModel> make_engine(const Options& given) {
  AccelerationEngine::Options options;
  const auto inverse = [](double rate) { return rate > 0 ? 1e-9 / rate : 0.0; };
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    const auto engine_class = static_cast<EngineClass>(i);
    const CostTerms terms = cost_terms(Processor::array, engine_class);
    ClassCost& cost = options.costs.cost(Processor::array, engine_class);
    if (terms.operators) {
      cost.operator_seconds = given.number(engine_option(engine_class, "operator_us")) * 1e-6;
    }
    if (terms.bytes) {
      cost.seconds_per_byte = inverse(given.number(engine_option(engine_class, "gb_per_s")));
    }
    if (terms.flops) {
      cost.seconds_per_flop = inverse(given.number(engine_option(engine_class, "gflop_per_s")));
    }
  }
  options.array_from_bytes = given.integer("array_from_bytes");
  options.array = given.text("processor") == to_string(Processor::array);
  options.management_flop_per_s = given.number("management_gflop_per_s") * 1e9;
  options.management_bytes_per_s = given.number("management_gb_per_s") * 1e9;
  options.framework = from_us(given.number("framework_us"));
  return std::make_unique<AccelerationEngine>(options);
}

CostModelInfo acceleration_engine() {
  return {.name = "acceleration_engine",
          .summary =
              "Chips of core groups: operators that suit the many-core array by the library that "
              "runs them, others on the management core.",
          .options = engine_options(),
          .make = make_engine};
}

CostModelInfo local_memory() {
  return {.name = "local_memory",
          .summary =
              "Groups of cores with local memories: blocks by double-buffered DMA, exchanged "
              "between cores by remote memory access.",
          .options = {{.name = "transposes",
                       .default_value = true,
                       .doc = "Inputs of matrix products are transposed first, for a library of "
                              "column-major matrices."}},
          .make = [](const Options& options) -> std::unique_ptr<CostModel> {
            return std::make_unique<LocalMemory>(options.flag("transposes"));
          }};
}

CostModelInfo measured() {
  return {.name = "measured",
          .summary =
              "Durations that were measured on such a device (schedlab calibrate), carried "
              "to other shapes; the default on machines with a profile.",
          .options = {},
          .make = [](const Options&) -> std::unique_ptr<CostModel> {
            return std::make_unique<Measured>();
          }};
}

}  // namespace

const std::vector<CostModelInfo>& cost_models() {
  static const std::vector<CostModelInfo> models{
      fixed(),
      roofline(),
      tiled_gemm(),
      acceleration_engine(),
      local_memory(),
      measured(),
  };
  return models;
}

std::string_view default_cost_model_of(const Device& device) {
  return calibrated_profile(device) != nullptr ? "measured" : default_cost_model;
}

std::unique_ptr<CostModel> make_cost_model(std::string_view name,
                                           const std::map<std::string, OptionValue>& given) {
  std::vector<std::string> names;
  for (const CostModelInfo& info : cost_models()) {
    if (info.name == name) {
      return info.make(resolve_options(fmt::format("cost model {}", name), info.options, given));
    }
    names.push_back(info.name);
  }
  refuse_unknown(
      {}, "/cost_model", fmt::format("the unknown cost model \"{}\"", name), name, names);
}

}  // namespace schedlab
