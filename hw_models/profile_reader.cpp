// SPDX-License-Identifier: Apache-2.0
#include "hw_models/profile_reader.hpp"

#include "sim/graph/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr NumberRange any_count{1, 1'000'000, true};
constexpr NumberRange side{0, 1e15, true};
constexpr NumberRange at_least_zero{0, no_limit, false};
constexpr NumberRange bytes{0, 1e18, true};
constexpr NumberRange per_block{1, 1e18, false};
constexpr NumberRange slow_down{0.5, 1000, false};
constexpr NumberRange share{0, 1, false};
constexpr NumberRange drift_factor{0.001, 1000, false};
constexpr NumberRange microseconds{1e-6, 1e12, false};  // one picosecond at least

std::string word(MachineReader& reader,
                 const std::string& pointer,
                 const std::vector<std::string>& words) {
  std::string text =
      reader.required_text(pointer, fmt::format("one of {}", fmt::join(words, ", ")));
  if (std::find(words.begin(), words.end(), text) == words.end()) {
    reader.reject(
        pointer, fmt::format("\"{}\"", text), fmt::format("one of {}", fmt::join(words, ", ")));
  }
  return text;
}

std::uint32_t count(double value) {
  return static_cast<std::uint32_t>(value);
}
std::int64_t whole(double value) {
  return static_cast<std::int64_t>(value);
}

KernelSample read_sample(MachineReader& reader, const std::string& at) {
  const auto number = [&](const char* key, const NumberRange& range) {
    return reader.plain_number(at + key, range);
  };
  KernelSample sample;
  sample.operation = reader.required_text(at + "/operation", "the operation it was measured in");
  Kernel& kernel = sample.kernel;
  kernel.kind = enum_value<TaskKind>(word(reader, at + "/kind", enum_names<TaskKind>()));
  kernel.type = enum_value<DataType>(word(reader, at + "/type", enum_names<DataType>()));
  kernel.m = whole(number("/m", side));
  kernel.n = whole(number("/n", side));
  kernel.k = whole(number("/k", side));
  kernel.flops = Flops{number("/flops", at_least_zero)};
  kernel.bytes_read = Bytes{whole(number("/bytes_read", bytes))};
  kernel.bytes_written = Bytes{whole(number("/bytes_written", bytes))};
  kernel.working_set = Bytes{whole(number("/working_set", bytes))};
  const std::vector<std::string> keys = reader.children(at);
  if (std::find(keys.begin(), keys.end(), "bytes_cached") != keys.end()) {
    const auto read = static_cast<double>(kernel.bytes_read.count());
    kernel.bytes_cached = Bytes{whole(number("/bytes_cached", {0, read, true}))};
  }
  if (std::find(keys.begin(), keys.end(), "bytes_unit_cached") != keys.end()) {
    const auto cached = static_cast<double>(kernel.bytes_cached.count());
    kernel.bytes_unit_cached = Bytes{whole(number("/bytes_unit_cached", {0, cached, true}))};
  }
  kernel.grid.blocks = count(number("/blocks", any_count));
  sample.units = count(number("/units", any_count));
  sample.duration = from_us(number("/duration_us", microseconds));
  sample.spread = number("/spread", at_least_zero);
  sample.repetitions = count(number("/repetitions", any_count));
  return sample;
}

void expect_kind(MachineReader& reader, const std::string& at, const std::string& kind) {
  const std::vector<std::string>& kinds = enum_names<TaskKind>();
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  reader.reject(at + "/" + kind,
                fmt::format("the unknown kind \"{}\"", kind),
                fmt::format("one of {}", fmt::join(kinds, ", ")));
}

std::string below(const std::string& pointer, const std::string& key) {
  return fmt::format("{}/{}", pointer, key);
}

DriftReading read_drift(MachineReader& reader, const std::string& at) {
  DriftReading reading;
  for (const std::string& kind : reader.children(at)) {
    expect_kind(reader, at, kind);
    const std::string of_kind = below(at, kind);
    reading.kinds.push_back(
        {.kind = enum_value<TaskKind>(kind),
         .one_unit = reader.plain_number(of_kind + "/one_unit", drift_factor),
         .all_units = reader.plain_number(of_kind + "/all_units", drift_factor)});
  }
  std::sort(reading.kinds.begin(), reading.kinds.end(), [](const auto& a, const auto& b) {
    return a.kind < b.kind;
  });
  return reading;
}

}  // namespace

std::shared_ptr<const KernelProfile> read_profile(MachineReader& reader, KernelProfile fitted) {
  const std::string root = "/profile";
  const bool calibrated = !reader.children(root).empty();
  if (!calibrated && fitted.calibrated()) return nullptr;  // nothing was fitted either
  auto profile = std::make_shared<KernelProfile>(std::move(fitted));
  if (!calibrated) return profile;
  profile->how = reader.required_text(root + "/measured", "how its numbers were measured");
  profile->date = reader.required_text(root + "/date", "the day of the measurement");
  profile->cpu = reader.text(root + "/cpu").value_or("");
  profile->compiler = reader.text(root + "/compiler").value_or("");
  profile->valid = reader.text(root + "/valid").value_or("");
  profile->units = count(reader.plain_number(root + "/units", any_count));
  profile->cut.flops_per_block = reader.plain_number(root + "/flops_per_block", per_block);
  profile->cut.bytes_per_block = reader.plain_number(root + "/bytes_per_block", per_block);
  profile->noise = reader.plain_number(root + "/noise", at_least_zero);
  const std::vector<std::string> keys = reader.children(root);
  const auto put_share = [&](const char* key, double& value) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return;
    value = reader.plain_number(below(root, key), share);
  };
  put_share("last_block_wait", profile->last_block_wait);
  put_share("hidden_latency", profile->hidden_latency);
  const std::string co_run = root + "/co_run";
  for (const std::string& kind : reader.children(co_run)) {
    expect_kind(reader, co_run, kind);
    profile->co_run.push_back(
        {enum_value<TaskKind>(kind), reader.plain_number(below(co_run, kind), slow_down)});
  }
  const std::string curve = root + "/cache_curve";
  CacheShare before{.distance = 0, .share = 1};
  for (const std::string& index : reader.children(curve)) {
    const std::string at = below(curve, index);
    before = {.distance = reader.plain_number(at + "/distance", {before.distance, 1000, false}),
              .share = reader.plain_number(at + "/share", {0, before.share, false})};
    profile->cache_curve.push_back(before);
  }
  const std::string drift = root + "/drift";
  for (const std::string& index : reader.children(drift)) {
    profile->drift.push_back(read_drift(reader, below(drift, index)));
  }
  const std::string samples = root + "/samples";
  for (const std::string& index : reader.children(samples)) {
    profile->samples.push_back(read_sample(reader, below(samples, index)));
  }
  return profile;
}

}  // namespace schedlab
