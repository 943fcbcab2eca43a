// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A fitted number and the interval that holds it with 95 %.
struct FittedValue {
  double value = 0;
  double low = 0;
  double high = 0;

  friend bool operator==(const FittedValue&, const FittedValue&) = default;
};

/// Range and meaning of one parameter of a fitted cost model.
struct ParameterInfo {
  std::string_view name;  ///< with its unit: the key in machine files
  double minimum;
  double maximum;
  double start;  ///< from which a fit starts
  std::string_view meaning;
  bool integer = false;  ///< part of the model's form: chosen, not fitted
};

/// The parameters of a fitted cost model, in the order of its list of ParameterInfo.
struct FittedParameters {
  std::vector<FittedValue> values{};
  std::string source{};  ///< what they were fitted to, when, with which command and split

  [[nodiscard]] bool known() const { return !values.empty(); }
  /// `parameter`: an enumerator at the place of its ParameterInfo.
  template <class Parameter>
  [[nodiscard]] double operator[](Parameter parameter) const {
    return values[static_cast<std::size_t>(parameter)].value;
  }
  friend bool operator==(const FittedParameters&, const FittedParameters&) = default;
};

}  // namespace schedlab
