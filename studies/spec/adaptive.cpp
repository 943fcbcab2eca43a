// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/adaptive.hpp"

namespace schedlab {

const std::vector<OptionSpec>& adaptive_options() {
  static const std::vector<OptionSpec> options{
      {.name = "border",
       .default_value = std::string{to_string(BorderOf::automatic)},
       .doc = "What differs across a border: the winner, the bound that limits it, or, of two "
              "policies on a machine that scatters, whether the first is faster with a probability "
              "below 5, 50 or 95 %; automatic: probability where the machine scatters, else "
              "winner.",
       .allowed = enum_names<BorderOf>()},
      {.name = "policy",
       .default_value = std::string{},
       .doc = "Compare this policy with that of over, and no others."},
      {.name = "over",
       .default_value = std::string{},
       .doc = "The policy that it is compared with."},
      {.name = "coarse_cells",
       .default_value = std::int64_t{8},
       .doc = "Cells along each axis to begin with: regions smaller than one may be missed.",
       .minimum = 1,
       .maximum = 10'000},
      {.name = "border_width_percent",
       .default_value = 1.0,
       .doc = "Cells on a border are halved down to this share of the axis.",
       .minimum = 1e-4,
       .maximum = 100},
      {.name = "interpolate",
       .default_value = true,
       .doc = "Do not halve a cell within which makespans vary so evenly that interpolation "
              "between its corners places the border to its width; false: halve every one."}};
  return options;
}

AdaptiveChoice adaptive_choice(const Options& options) {
  return {.border = *enum_from<BorderOf>(options.text("border")),
          .policy = options.text("policy"),
          .over = options.text("over"),
          .coarse_cells = static_cast<std::uint32_t>(options.integer("coarse_cells")),
          .border_width = options.number("border_width_percent") / 100,
          .interpolate = options.flag("interpolate")};
}

}  // namespace schedlab
