// SPDX-License-Identifier: Apache-2.0
#include "calibration/product_transfer.hpp"

#include "calibration/micro_sweep.hpp"
#include "calibration/model_fit.hpp"
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

// Factor by which a library differs from one device to the next of a generation // assumed
constexpr double transfer_scatter = 1.05;
constexpr std::size_t shapes_tried = 490;
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

/// Parameters whose step from the last known machine to the target is foreseen, and that step.
struct Step {
  P parameter;
  double factor;
};
std::vector<Step> steps_of(const std::vector<MachineSpec>& known,
                           const Device& target,
                           DataType type) {
  const Device& last = known.back().platform.devices[DeviceId{0}];
  const double unit = unit_peak_of(target, type) / unit_peak_of(last, type);
  const double all = peak_of(target, type) / peak_of(last, type);
  std::vector<Step> steps{{P::unit_gb_per_s, unit},
                          {P::epilogue_gb_per_s, unit},
                          {P::cache_gb_per_s, all},
                          {P::split_gb_per_s, all}};
  if (known.size() > 1 && std::abs(unit - 1.0) > same_unit) {
    const double later = latency_of(pipelined_library_of(known.back(), type)) /
                         latency_of(pipelined_library_of(known[known.size() - 2], type));
    for (const P latency :
         {P::floor_us, P::tile_us, P::step_ns, P::memory_latency_us, P::split_us}) {
      steps.push_back({latency, later});
    }
  }
  return steps;
}

/// Moved by the share of each step; intervals reach from no step to the whole one.
void move(const std::vector<Step>& steps, double share, MatrixLibrary& library) {
  for (const Step& step : steps) {
    FittedValue& value = library.pipelined->of(step.parameter);
    const double whole = value.value * step.factor;
    value.low = std::min({value.low, value.value, whole});
    value.high = std::max({value.high, value.value, whole});
    value.value *= std::pow(step.factor, share);
  }
  for (std::size_t i = 0; i < product_parameter_count; ++i) {
    const ParameterInfo& info = product_parameters()[i];
    FittedValue& value = library.pipelined->values[i];
    const auto within = [&](double number) {
      return std::clamp(four_digits(number), info.minimum, info.maximum);
    };
    value = {within(value.value), within(value.low), within(value.high)};
  }
}

/// An end of an interval: its factor, that of a step and transfer_scatter as independent errors.
double joined(double end, double step) {
  const double width = std::sqrt(std::pow(std::log(end), 2) + std::pow(std::log(step), 2) +
                                 std::pow(std::log(transfer_scatter), 2));
  return std::exp(end < 1.0 ? -width : width);
}

/// Those of the last known machine, wider by what none and all of the steps would change in the
/// median of the shapes of a micro-sweep, and by `transfer_scatter`.
void widen_intervals(const MatrixLibrary& none,
                     const MatrixLibrary& all,
                     const Device& target,
                     DataType type,
                     MatrixLibrary& library) {
  double above = 0;
  for (ProductInterval& interval : library.pipelined->intervals) {
    std::vector<double> shorter;
    std::vector<double> longer;
    for (const MeasuredProduct& shape : micro_sweep(shapes_tried)) {
      const auto rows = static_cast<double>(shape.m);
      if (rows <= above || rows > interval.rows) continue;
      const double us = product_us(library, shape, type, target);
      const double a = product_us(none, shape, type, target) / us;
      const double b = product_us(all, shape, type, target) / us;
      shorter.push_back(std::min({1.0, a, b}));
      longer.push_back(std::max({1.0, a, b}));
    }
    above = interval.rows;
    interval.low = four_digits(joined(interval.low, quantile(shorter, 0.5)));
    interval.high = four_digits(joined(interval.high, quantile(longer, 0.5)));
  }
}

}  // namespace

const MatrixLibrary* pipelined_library(const Device& device, DataType type) {
  if (device.profile == nullptr) return nullptr;
  for (const MatrixLibrary& library : device.profile->libraries) {
    const auto& types = library.types;
    if (library.pipelined && std::find(types.begin(), types.end(), type) != types.end()) {
      return &library;
    }
  }
  return nullptr;
}

const MatrixLibrary& pipelined_library_of(const MachineSpec& machine, DataType type) {
  const MatrixLibrary* const library =
      pipelined_library(machine.platform.devices[DeviceId{0}], type);
  if (library != nullptr) return *library;
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
  library.pipelined->residuals.clear();  // of the other device's kernels
  const MatrixLibrary none = library;
  MatrixLibrary all = library;
  const std::vector<Step> steps = steps_of(known, target, type);
  move(steps, 1.0, all);
  move(steps, 0.5, library);
  widen_intervals(none, all, target, type, library);
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
