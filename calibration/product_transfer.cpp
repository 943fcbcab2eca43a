// SPDX-License-Identifier: Apache-2.0
#include "calibration/product_transfer.hpp"

#include "hw_models/pipelined_product.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using P = ProductParameter;

constexpr double same_unit = 0.05;  // units that differ by less are of one generation // assumed

double peak_of(const Device& device, DataType type) {
  return device.rates.matrix[static_cast<std::size_t>(type)].count();
}

double unit_peak_of(const Device& device, DataType type) {
  return peak_of(device, type) / std::max(1U, device.rates.matrix_units);
}

double latency_of(const MatrixLibrary& library) {
  const PipelinedProducts& products = *library.pipelined;
  return products[P::floor_us] + products[P::tile_us] + products[P::memory_latency_us];
}

void scale(PipelinedProducts& products, P parameter, double step) {
  FittedValue& value = products.of(parameter);
  const double whole = value.value * step;
  value.low = std::min({value.low, value.value, whole});
  value.high = std::max({value.high, value.value, whole});
  value.value *= std::sqrt(step);
}

double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

}  // namespace

const MatrixLibrary& pipelined_library_of(const MachineSpec& machine, DataType type) {
  const auto& profile = machine.platform.devices[DeviceId{0}].profile;
  if (profile != nullptr) {
    for (const MatrixLibrary& library : profile->libraries) {
      const auto& types = library.types;
      if (library.pipelined && std::find(types.begin(), types.end(), type) != types.end()) {
        return library;
      }
    }
  }
  throw InfeasibleError(
      fmt::format("machine \"{}\" has no fitted products in {}\n  calibrate it first (schedlab "
                  "calibrate --from)",
                  machine.name,
                  to_string(type)));
}

MatrixLibrary transferred_products(const std::vector<MachineSpec>& known,
                                   const Device& target,
                                   DataType type) {
  SCHEDLAB_EXPECTS(!known.empty(), "a transfer from no machine");
  MatrixLibrary library = pipelined_library_of(known.back(), type);
  const Device& last = known.back().platform.devices[DeviceId{0}];
  PipelinedProducts& products = *library.pipelined;
  const double unit = unit_peak_of(target, type) / unit_peak_of(last, type);
  const double all = peak_of(target, type) / peak_of(last, type);
  for (const P rate : {P::unit_gb_per_s, P::epilogue_gb_per_s}) scale(products, rate, unit);
  for (const P rate : {P::cache_gb_per_s, P::split_gb_per_s}) scale(products, rate, all);
  if (known.size() > 1 && std::abs(unit - 1.0) > same_unit) {
    const double step = latency_of(pipelined_library_of(known.back(), type)) /
                        latency_of(pipelined_library_of(known[known.size() - 2], type));
    for (const P latency :
         {P::floor_us, P::tile_us, P::step_ns, P::memory_latency_us, P::split_us}) {
      scale(products, latency, step);
    }
  }
  for (const ProductParameterInfo& info : product_parameters()) {
    FittedValue& value = products.of(info.parameter);
    const auto within = [&](double number) {
      return std::clamp(rounded(number), info.minimum, info.maximum);
    };
    value = {within(value.value), within(value.low), within(value.high)};
  }
  std::string names;
  for (const MachineSpec& machine : known) names += (names.empty() ? "" : ", ") + machine.name;
  library.name = fmt::format("products carried over from {}", names);
  library.assumed = true;
  library.source = fmt::format(
      "carried over from {} by peak and memory bandwidth of the data sheet (schedlab calibrate "
      "--transfer); nothing of this device is measured",
      names);
  return library;
}

MachineSpec transfer_products(const std::vector<MachineSpec>& known,
                              MachineSpec target,
                              DataType type) {
  set_library(target, transferred_products(known, target.platform.devices[DeviceId{0}], type));
  return target;
}

void set_library(MachineSpec& machine, MatrixLibrary library) {
  Device& device = machine.platform.devices[DeviceId{0}];
  auto profile = device.profile == nullptr ? std::make_shared<KernelProfile>()
                                           : std::make_shared<KernelProfile>(*device.profile);
  std::erase_if(profile->libraries, [&](const MatrixLibrary& other) {
    return std::find(other.types.begin(), other.types.end(), library.types.front()) !=
           other.types.end();
  });
  profile->libraries.push_back(std::move(library));
  device.profile = std::move(profile);
}

}  // namespace schedlab
