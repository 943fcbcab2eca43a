// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/ranks.hpp"

#include <cmath>

namespace schedlab {

const std::vector<OptionSpec>& ranks_options() {
  static const std::vector<OptionSpec> options{
      {.name = "count",
       .default_value = std::int64_t{1},
       .doc = "Number of ranks, each one host process with one device.",
       .minimum = 1,
       .maximum = static_cast<double>(max_ranks),
       .required = true},
      {.name = "bucket_mib",
       .default_value = 25.0,
       .doc = "Gradients are summed in buckets of at least this size.",
       .minimum = 1e-6,
       .maximum = 1e6},
      {.name = "algorithm",
       .default_value = std::string{to_string(CollectiveAlgorithm::automatic)},
       .doc = "How gradients are summed; automatic: whatever is fastest.",
       .allowed = enum_names<CollectiveAlgorithm>()},
      {.name = "overlap",
       .default_value = true,
       .doc = "Sum a bucket as soon as it is full; false: after the last gradient."},
  };
  return options;
}

RanksChoice ranks_choice(const Options& options) {
  return {.count = static_cast<std::uint32_t>(options.integer("count")),
          .bucket = Bytes{std::llround(options.number("bucket_mib") * 1024.0 * 1024.0)},
          .algorithm = *enum_from<CollectiveAlgorithm>(options.text("algorithm")),
          .overlap = options.flag("overlap")};
}

}  // namespace schedlab
