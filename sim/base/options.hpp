// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace schedlab {

/// The value of one knob. The alternative held by the default decides the type.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One knob of a policy, workload or model as its registry declares it: the JSON Schema, the
/// reference pages and the checks of input are all made from this.
struct OptionSpec {
  std::string name;             ///< as in JSON; with its unit where it has one ("query_us")
  OptionValue default_value{};  ///< also fixes the type
  std::string doc;              ///< one sentence
  double minimum = -std::numeric_limits<double>::infinity();  ///< of numbers
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> allowed{};  ///< of strings; empty: any
  bool required = false;               ///< must be given (the default only fixes the type)
};

/// Complete, checked knobs: every declared option is present with its declared type.
class Options {
 public:
  Options() = default;
  explicit Options(std::map<std::string, OptionValue> values) : values_(std::move(values)) {}

  // ContractViolation if the option was not declared with this type.
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;

  [[nodiscard]] const std::map<std::string, OptionValue>& values() const { return values_; }
  friend bool operator==(const Options&, const Options&) = default;

 private:
  std::map<std::string, OptionValue> values_;
};

/// Fills in defaults and checks names, types, ranges and words. `owner` is named in messages
/// ("policy critical_first"). An integer is accepted where a double is declared. Throws InputError
/// (file and pointer left empty, or pointer "/NAME") with the closest valid spelling.
[[nodiscard]] Options resolve_options(std::string_view owner,
                                      const std::vector<OptionSpec>& specs,
                                      const std::map<std::string, OptionValue>& given);

/// "true", "12", "0.5", "ordered": as in JSON without quotes.
[[nodiscard]] std::string to_string(const OptionValue& value);

}  // namespace schedlab
