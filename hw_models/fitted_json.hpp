// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_reader.hpp"
#include "sim/machine/fitted_parameters.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace schedlab {

// Parameters of fitted models in machine files: {"NAME": {"value", "low", "high"}, ...,
// "fitted": "..."}, by their list of ParameterInfo; those of a model's form are bare numbers.

/// A number as JSON; a whole one without ".0".
[[nodiscard]] nlohmann::ordered_json whole_or_real(double value);

/// None if the file has no such object.
[[nodiscard]] FittedParameters read_parameters(MachineReader& reader,
                                               const std::string& at,
                                               std::span<const ParameterInfo> infos);
[[nodiscard]] std::vector<FittedParameters> read_parameter_list(
    MachineReader& reader, const std::string& at, std::span<const ParameterInfo> infos);

[[nodiscard]] nlohmann::ordered_json parameters_json(const FittedParameters& fitted,
                                                     std::span<const ParameterInfo> infos);
[[nodiscard]] nlohmann::ordered_json parameters_schema(std::span<const ParameterInfo> infos);

}  // namespace schedlab
