// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/shard.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace schedlab {
namespace {

constexpr std::uint32_t max_shards = 1'000'000;
/// So many that parts end at about the same time, so few that neighbours, which share graphs and
/// plans, mostly stay together.
constexpr std::uint64_t blocks_per_shard = 16;

[[noreturn]] void refuse(const std::string& text, const std::string& hint) {
  throw InputError({.file = "--shard",
                    .pointer = {},
                    .found = text,
                    .expected = fmt::format("NUMBER/COUNT, as 3/64, or COUNT within a job array; "
                                            "from 1 to at most {}",
                                            max_shards),
                    .hint = hint});
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value}
                                                                  : std::nullopt;
}

std::uint64_t block_size(std::uint64_t scenarios, std::uint32_t count) {
  return std::max<std::uint64_t>(1, scenarios / (count * blocks_per_shard));
}

/// A scheduler that numbers the tasks of a job array.
struct ArrayVariables {
  const char* number;
  const char* first;  ///< the number of the first task; nullptr: 1
};
constexpr std::array array_variables{ArrayVariables{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN"},
                                     ArrayVariables{"PBS_ARRAY_INDEX", nullptr},
                                     ArrayVariables{"SGE_TASK_ID", "SGE_TASK_FIRST"}};

std::uint64_t number_in_array(const std::string& text, const Environment& environment) {
  for (const ArrayVariables& variables : array_variables) {
    const std::optional<std::string> said = environment(variables.number);
    if (!said || *said == "undefined") continue;  // what SGE says outside an array
    const auto first = variables.first == nullptr ? std::nullopt : environment(variables.first);
    const auto number = whole(*said);
    const auto from = whole(first.value_or("1"));
    if (!number || !from || *number < *from) {
      refuse(fmt::format("{} with {}={}", text, variables.number, *said),
             "number the tasks of the array from 1");
    }
    return *number - *from + 1;
  }
  refuse(text, "no SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX or SGE_TASK_ID is set: say which, as 1/64");
}

/// "1:02:03", rounded up to a minute.
std::string clock_text(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(seconds / 60));
  return fmt::format("{}:{:02}:00", minutes / 60, minutes % 60);
}

}  // namespace

bool Shard::has(std::uint64_t scenario, std::uint64_t scenarios) const {
  const std::uint64_t block = scenario / block_size(scenarios, count);
  return (block + block / count) % count == number - 1;
}

std::uint64_t Shard::size(std::uint64_t scenarios) const {
  std::uint64_t mine = 0;
  const std::uint64_t block = block_size(scenarios, count);
  for (std::uint64_t first = 0; first < scenarios; first += block) {
    if (has(first, scenarios)) mine += std::min(block, scenarios - first);
  }
  return mine;
}

std::string Shard::name() const {
  return fmt::format("{}/{}", number, count);
}

Shard shard_of(const std::string& text, const Environment& environment) {
  const std::size_t slash = text.find('/');
  const auto count =
      whole(slash == std::string::npos ? text : std::string_view{text}.substr(slash + 1));
  if (!count || *count == 0 || *count > max_shards) refuse(text, {});
  const auto number = slash == std::string::npos ? std::optional{number_in_array(text, environment)}
                                                 : whole(std::string_view{text}.substr(0, slash));
  if (!number || *number == 0 || *number > *count) {
    refuse(
        slash == std::string::npos ? fmt::format("{}, in task {}", text, number.value_or(0)) : text,
        {});
  }
  return {static_cast<std::uint32_t>(*number), static_cast<std::uint32_t>(*count)};
}

Shard shard_of(const std::string& text) {
  return shard_of(text, [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): none is ever set
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  });
}

std::string batch_script(const std::string& scheduler,
                         std::uint32_t shards,
                         const std::string& name,
                         const std::string& command,
                         std::optional<double> seconds) {
  std::string text = "#!/bin/bash\n";
  const auto line = [&](std::string_view mark, const std::string& option) {
    text += fmt::format("#{} {}\n", mark, option);
  };
  if (scheduler == "slurm") {
    line("SBATCH", "--job-name=" + name);
    line("SBATCH", fmt::format("--array=1-{}", shards));
    if (seconds) line("SBATCH", "--time=" + clock_text(*seconds));
    line("SBATCH", "--signal=B:USR1@60");  // a minute to commit and leave
  } else if (scheduler == "pbs") {
    line("PBS", "-N " + name);
    line("PBS", fmt::format("-J 1-{}", shards));
    if (seconds) line("PBS", "-l walltime=" + clock_text(*seconds));
    text += "cd \"$PBS_O_WORKDIR\" || exit 1\n";
  } else {
    line("$", "-N " + name);
    line("$", fmt::format("-t 1-{}", shards));
    if (seconds) line("$", "-l h_rt=" + clock_text(*seconds));
    line("$", "-cwd -notify");  // SIGUSR1 before the task is ended
  }
  return text + "exec " + command + "\n";
}

}  // namespace schedlab
