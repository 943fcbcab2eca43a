// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/partitions.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace schedlab {
namespace {

std::uint64_t taken_by(const std::vector<std::uint32_t>& partitions) {
  return std::accumulate(partitions.begin(), partitions.end(), std::uint64_t{0});
}

}  // namespace

UnitClassId divided_class(const Device& device) {
  const UnitClassId id = device.unit_class_of[static_cast<std::size_t>(TaskKind::gemm)];
  const bool counted = id.valid() && device.unit_classes[id].count != 0;
  return counted ? id : UnitClassId::none();
}

std::string why_not_divided(const Platform& platform,
                            const Device& device,
                            const std::vector<std::uint32_t>& partitions) {
  if (!shares_units(platform.sharing)) {
    return "a kernel holds whole units from start to end under sharing \"exclusive\", for as long "
           "as it takes on all of them: set \"sharing\" to \"fluid\" or \"blocks\"";
  }
  const UnitClassId id = divided_class(device);
  if (!id.valid()) return "the units for matrix kernels are not limited";
  const std::uint32_t units = device.unit_classes[id].count;
  if (std::find(partitions.begin(), partitions.end(), 0U) != partitions.end()) {
    return "a partition without units";
  }
  if (taken_by(partitions) < units) return {};
  return fmt::format("partitions of {} units leave nothing of its {} units \"{}\"",
                     taken_by(partitions),
                     units,
                     device.unit_classes[id].name);
}

void expect_divided(const Platform& platform, const std::vector<std::uint32_t>& partitions) {
  if (partitions.empty()) return;
  for (const Device& device : platform.devices) {
    const std::string why = why_not_divided(platform, device, partitions);
    if (why.empty()) continue;
    throw InfeasibleError(fmt::format("the units of {} cannot be divided: {}", platform.name, why));
  }
}

std::uint32_t units_left(std::uint32_t units, const std::vector<std::uint32_t>& partitions) {
  const std::uint64_t taken = taken_by(partitions);
  return taken < units ? static_cast<std::uint32_t>(units - taken) : 1;
}

std::string UnitPart::text() const {
  return fmt::format("{} of {} units", units, whole);
}

IdVector<StreamId, UnitPart> unit_parts(const Platform& platform, const Plan& plan) {
  IdVector<StreamId, UnitPart> parts;
  if (plan.partitions.empty()) return parts;
  for (const StreamSpec& stream : plan.streams) {
    const Device& device = platform.device(stream.device);
    const UnitClassId id = divided_class(device);
    if (!id.valid() || stream.partition > plan.partitions.size()) return {};
    const std::uint32_t whole = device.unit_classes[id].count;
    parts.push_back({stream.partition == 0 ? units_left(whole, plan.partitions)
                                           : plan.partitions.at(stream.partition - 1),
                     whole});
  }
  return parts;
}

Plan undivided(Plan plan) {
  plan.partitions.clear();
  for (StreamSpec& stream : plan.streams) stream.partition = 0;
  return plan;
}

}  // namespace schedlab
