// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/variability.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

constexpr double max_cv = 2.0;
constexpr double max_normal_cv = 0.3;  // beyond, cutting off at 0 would move the mean
constexpr double as_duration = -1.0;   // a kind without a value of its own

std::string cv_key(const std::string& kind) {
  return kind + "_cv";
}

std::vector<OptionSpec> make_options() {
  std::vector<OptionSpec> options{
      {.name = "samples",
       .default_value = std::int64_t{100},
       .doc = "runs that are drawn, besides the one without noise",
       .minimum = 1,
       .maximum = 100'000},
      {.name = "seed", .default_value = std::int64_t{1}, .doc = "of all draws", .minimum = 0},
      {.name = "law",
       .default_value = std::string{"lognormal"},
       .doc = "of the factor, with mean 1, on durations and call costs",
       .allowed = enum_names<NoiseLaw>()},
      {.name = "duration_cv",
       .default_value = 0.0,
       .doc = "standard deviation over mean of the duration of each task, drawn task by task",
       .minimum = 0,
       .maximum = max_cv},
      {.name = "host_call_cv",
       .default_value = 0.0,
       .doc = "the same of the call costs of a host thread, drawn once per run",
       .minimum = 0,
       .maximum = max_cv},
      {.name = "straggler_probability",
       .default_value = 0.0,
       .doc = "that a device is slow, drawn once per run and device",
       .minimum = 0,
       .maximum = 1},
      {.name = "straggler_factor",
       .default_value = 1.0,
       .doc = "by which all durations on a slow device are longer",
       .minimum = 1,
       .maximum = 1000}};
  for (const std::string& kind : enum_names<TaskKind>()) {
    options.push_back({.name = cv_key(kind),
                       .default_value = as_duration,
                       .doc = "duration_cv of tasks of kind " + kind + "; -1: as duration_cv",
                       .minimum = as_duration,
                       .maximum = max_cv});
  }
  return options;
}

void expect_cv(const std::string& key, double cv, NoiseLaw law) {
  if (law != NoiseLaw::normal || cv <= max_normal_cv) return;
  throw InputError({.file = {},
                    .pointer = "/" + key,
                    .found = fmt::format("{} with the law normal", cv),
                    .expected = fmt::format("at most {}", max_normal_cv),
                    .hint = "a normal law that wide has negative durations; use lognormal"});
}

}  // namespace

const std::vector<OptionSpec>& variability_options() {
  static const std::vector<OptionSpec> options = make_options();
  return options;
}

Sampling make_sampling(const Options& options) {
  Sampling sampling;
  Variability& variability = sampling.variability;
  sampling.samples = static_cast<std::uint64_t>(options.integer("samples"));
  variability.seed = static_cast<std::uint64_t>(options.integer("seed"));
  variability.law = enum_from<NoiseLaw>(options.text("law")).value();
  variability.host_cv = options.number("host_call_cv");
  variability.straggler_probability = options.number("straggler_probability");
  variability.straggler_factor = options.number("straggler_factor");
  const double everywhere = options.number("duration_cv");
  expect_cv("duration_cv", everywhere, variability.law);
  expect_cv("host_call_cv", variability.host_cv, variability.law);
  for (std::size_t kind = 0; kind < task_kind_count; ++kind) {
    const std::string key = cv_key(enum_names<TaskKind>()[kind]);
    const double own = options.number(key);
    if (own > as_duration && own < 0) {
      throw InputError({.file = {},
                        .pointer = "/" + key,
                        .found = fmt::format("{}", own),
                        .expected = "at least 0, or -1: as duration_cv",
                        .hint = {}});
    }
    variability.cv[kind] = own < 0 ? everywhere : own;
    expect_cv(key, variability.cv[kind], variability.law);
  }
  return sampling;
}

}  // namespace schedlab
