// SPDX-License-Identifier: Apache-2.0
#include "hw_models/registry.hpp"

#include "hw_models/fixed.hpp"
#include "hw_models/measured.hpp"
#include "hw_models/roofline.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

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
                   .maximum = 64}},
      .make = [](const Options& options) -> std::unique_ptr<CostModel> {
        return std::make_unique<TiledGemm>(options.integer("split_k"));
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
      measured(),
  };
  return models;
}

std::string_view default_cost_model_of(const Device& device) {
  return device.profile != nullptr ? "measured" : default_cost_model;
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
  const std::string close = closest_spelling(name, names);
  throw InputError(
      {.file = {},
       .pointer = "/cost_model",
       .found = fmt::format("the unknown cost model \"{}\"", name),
       .expected = fmt::format("one of {}", fmt::join(names, ", ")),
       .hint = close.empty() ? std::string{} : fmt::format("did you mean \"{}\"?", close)});
}

}  // namespace schedlab
