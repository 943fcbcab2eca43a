// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/platform.hpp"

#include <fmt/format.h>

namespace schedlab {

const std::vector<std::string>& sharing_model_names() {
  static const std::vector<std::string> names{"exclusive", "fluid", "blocks"};
  return names;
}

std::string_view to_string(SharingModel model) {
  return sharing_model_names()[static_cast<std::size_t>(model)];
}

std::optional<SharingModel> sharing_model_from(std::string_view word) {
  for (const SharingModel model :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    if (to_string(model) == word) return model;
  }
  return std::nullopt;
}

std::string Platform::device_name(DeviceId id) const {
  return ranks > 1 ? fmt::format("rank {}", id.value()) : device(id).name;
}

Platform ideal_platform(std::uint32_t levels) {
  Platform platform;
  platform.name = "ideal";
  platform.devices[DeviceId{0}].name = "ideal";
  platform.devices[DeviceId{0}].priority_levels = levels;
  return platform;
}

}  // namespace schedlab
