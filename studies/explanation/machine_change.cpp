// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "studies/explanation/replay_change.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

DataType data_type_of(std::string_view name) {
  if (has_any(name, {"bf16", "BBS", "bfloat"})) return DataType::bf16;
  if (has_any(name, {"tf32"})) return DataType::tf32;
  if (has_any(name, {"f16", "fp16", "hgemm", "half", "h884", "h1688", "h16816"})) {
    return DataType::fp16;
  }
  return DataType::fp32;
}

double ratio(double from, double to, std::string_view what, const Device& a, const Device& b) {
  if (from > 0 && to > 0) return to / from;
  throw InfeasibleError(fmt::format("machine {} has no {}", from > 0 ? b.name : a.name, what));
}

}  // namespace

bool may_be_device(std::string_view profiled, std::string_view machine) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto lower = [](std::string_view text) {
    std::string result;
    for (const char c : text) result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  };
  const std::string name = lower(profiled);
  const std::string from = lower(machine);
  const auto digit = std::find_if(from.begin(), from.end(), is_digit);
  if (digit == from.end() || std::none_of(name.begin(), name.end(), is_digit)) return true;
  const std::size_t at = static_cast<std::size_t>(digit - from.begin());
  const std::size_t before = from.find_last_of(" -_", at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string model = from.substr(begin, from.find_first_of(" -_", at) - begin);
  for (std::size_t i = name.find(model); i != std::string::npos; i = name.find(model, i + 1)) {
    const std::size_t end = i + model.size();
    if ((i == 0 || !is_digit(name[i - 1])) && (end == name.size() || !is_digit(name[end]))) {
      return true;
    }
  }
  return false;
}

double machine_speed_up(std::string_view kernel,
                        TaskKind kind,
                        const Device& from,
                        const Device& to) {
  switch (kind) {
    case TaskKind::collective:
      return 1.0;
    case TaskKind::copy_host_to_device:
      return ratio(from.rates.host_to_device.count(),
                   to.rates.host_to_device.count(),
                   "link from the host",
                   from,
                   to);
    case TaskKind::copy_device_to_host:
      return ratio(from.rates.device_to_host.count(),
                   to.rates.device_to_host.count(),
                   "link to the host",
                   from,
                   to);
    default:
      break;
  }
  if (has_any(kernel, {"gemm", "conv", "cutlass", "xmma", "fprop", "wgrad", "dgrad", "Cijk"})) {
    const auto type = static_cast<std::size_t>(data_type_of(kernel));
    return ratio(from.rates.matrix.at(type).count(),
                 to.rates.matrix.at(type).count(),
                 fmt::format("rate of {} matrix kernels", to_string(data_type_of(kernel))),
                 from,
                 to);
  }
  return ratio(from.rates.memory.count(), to.rates.memory.count(), "memory bandwidth", from, to);
}

}  // namespace schedlab
