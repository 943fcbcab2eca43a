// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validate_verb.hpp"

#include "sim/base/error.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/validation/spec_to_validate.hpp"
#include "studies/validation/validate_run.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace schedlab {
namespace {

void expect_source(const ValidateOptions& options, const ValidateParts& parts) {
  if (parts.measurer != nullptr || !options.recording.empty() || device_from(options.device)) {
    return;
  }
  throw InputError({.file = "--device",
                    .pointer = {},
                    .found = options.device.empty() ? "neither --device nor --recording"
                                                    : fmt::format("\"{}\"", options.device),
                    .expected = fmt::format("--device {}, or a recording", device_choices()),
                    .hint = "--recording DIR replays what validate --record DIR has written"});
}

}  // namespace

double share_option(const std::string& text, const std::string& flag) {
  std::string_view number = text;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size() || !(value >= 0) ||
      !std::isfinite(value)) {
    throw InputError({.file = flag,
                      .pointer = {},
                      .found = fmt::format("\"{}\"", text),
                      .expected = "a share such as 5% or 0.05",
                      .hint = {}});
  }
  return percent ? value / 100 : value;
}

int run(const ValidateOptions& options, const Terminal& terminal) {
  return run(options, terminal, {});
}

int run(const ValidateOptions& options, const Terminal& terminal, const ValidateParts& parts) {
  expect_source(options, parts);
  const Spec spec = spec_to_validate(options, &terminal.err);
  return run_validation(options, terminal, parts, spec);
}

}  // namespace schedlab
