// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/execution_device.hpp"

#include "sim/base/error.hpp"
#include "studies/execution/cpu_device.hpp"
#include "studies/execution/cuda_device.hpp"
#include "studies/execution/opencl_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace schedlab {
namespace {

/// All of the word as a number of at least `least`; nullopt: it is none.
std::optional<int> number_from(std::string_view word, int least) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number < least) {
    return std::nullopt;
  }
  return number;
}

/// What is behind the kind's name: "", ":2" or ":2/4".
std::optional<NamedDevice> place_from(const DeviceKind& kind, std::string_view word) {
  NamedDevice device{.kind = &kind};
  if (word.empty()) return device;
  if (!kind.numbered || !word.starts_with(':')) return std::nullopt;
  word.remove_prefix(1);
  const std::size_t slash = word.find('/');
  const auto number = number_from(word.substr(0, slash), 0);
  if (!number) return std::nullopt;
  device.number = *number;
  if (slash == std::string_view::npos) return device;
  const auto units = number_from(word.substr(slash + 1), 1);
  if (!units || !kind.splits) return std::nullopt;
  device.group_units = static_cast<std::uint32_t>(*units);
  return device;
}

}  // namespace

const std::vector<DeviceKind>& device_kinds() {
  static const std::vector<DeviceKind> kinds{cpu_kind(), cuda_kind(), opencl_kind()};
  return kinds;
}

ListedSection listed_devices() {
  ListedSection section{.title = "devices", .entries = {}};
  for (const DeviceKind& kind : device_kinds()) {
    const std::vector<ListedEntry> found = kind.list();
    section.entries.insert(section.entries.end(), found.begin(), found.end());
  }
  return section;
}

std::optional<NamedDevice> device_from(std::string_view word) {
  for (const DeviceKind& kind : device_kinds()) {
    if (!word.starts_with(kind.name)) continue;
    if (const auto device = place_from(kind, word.substr(kind.name.size()))) return device;
  }
  return std::nullopt;
}

std::string device_choices(std::span<const std::string_view> more) {
  std::vector<std::string> words;
  for (const DeviceKind& kind : device_kinds()) {
    words.emplace_back(kind.name);
    if (kind.numbered) words.push_back(fmt::format("{}:N", kind.name));
    if (kind.splits) words.push_back(fmt::format("{}:N/UNITS", kind.name));
  }
  words.insert(words.end(), more.begin(), more.end());
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    text += (i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

void expect_flags_of(std::string_view device,
                     std::initializer_list<std::pair<std::string_view, bool>> given) {
  const auto own = device_from(device);
  for (const auto& [flag, is_given] : given) {
    if (!is_given) continue;
    for (const DeviceKind& kind : device_kinds()) {
      const auto& flags = kind.own_flags;
      if (std::find(flags.begin(), flags.end(), flag) == flags.end()) continue;
      if (own && own->kind == &kind) break;
      throw InputError({.file = std::string{flag},
                        .pointer = {},
                        .found = device.empty() ? "no device" : fmt::format("--device {}", device),
                        .expected = fmt::format("--device {} with it", kind.name),
                        .hint = {}});
    }
  }
}

std::optional<ProxyKernels> proxy_from(std::string_view word) {
  if (word == "spin") return ProxyKernels::spin;
  if (word == "shapes") return ProxyKernels::shapes;
  return std::nullopt;
}

CudaProducts cuda_products_of(std::string_view word) {
  return enum_from<CudaProducts>(word).value_or(CudaProducts::cublas);
}

}  // namespace schedlab
