// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/base/options.hpp"
#include "sim/machine/cost_model.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A cost model as users choose it.
struct CostModelInfo {
  std::string name;
  std::string summary;  ///< one sentence
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<CostModel>(const Options&)> make;
};

inline constexpr std::string_view default_cost_model = "tiled_gemm";
/// What is used where nothing is chosen: "measured" on a device with a profile, else
/// default_cost_model.
[[nodiscard]] std::string_view default_cost_model_of(const Device& device);

/// All of them, in the order of the documentation.
[[nodiscard]] const std::vector<CostModelInfo>& cost_models();

/// Throws InputError: unknown name (with the closest one) or unsuitable options (pointer "/NAME").
[[nodiscard]] std::unique_ptr<CostModel> make_cost_model(
    std::string_view name, const std::map<std::string, OptionValue>& given = {});

}  // namespace schedlab
