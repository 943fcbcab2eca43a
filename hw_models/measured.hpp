// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "hw_models/profile_fits.hpp"
#include "sim/machine/cost_model.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace schedlab {

/// How well the duration of an operation is known.
struct PredictionQuality {
  /// Sorted: measured over predicted of left-out shapes, from which prediction intervals are made.
  /// With several kernels the sum of those of the same rank, weighted by duration, as if all erred
  /// together, which is the careful side. Empty: the operation has no kernels, its duration is
  /// given.
  std::vector<double> ratios;
  /// Which model of the calibration each ratio of a single kernel was measured in
  /// (KernelClass::working_sets); empty for several kernels.
  std::vector<Bytes> working_sets;
  bool in_calibrated_range = true;  ///< every kernel lies between the shapes that were measured

  friend bool operator==(const PredictionQuality&, const PredictionQuality&) = default;
};

/// Durations from a device's profile (KernelProfile): what was measured on such a device, carried
/// to other shapes.
///
///   kernel     the fit of its class (hw_models/kernel_fit.hpp; classes: ProfileFits::find) for its
///              blocks; without a grid cut as the profile says
///   operation  its kernels one after another, with the stream gap between two
///   share      min(blocks, units) / units of the class of units; of products at most
///              1 - hidden_latency * KernelFit::waiting(): the device runs another in the
///              latencies of a small one
///   bandwidth  only of kinds whose blocks were measured to slow each other down, factor s with all
///              units busy: min(1, share * s * r) of the reachable memory bandwidth; r: bytes per
///              second and unit over what a unit copies beyond its caches, at most 1. Kernels of
///              one block that stream (r = 1) on all units want, and take, s times as much
///   bound      what most of the fitted cost grows with: FLOPs, bytes or neither
///   copies between host and device: a class if they were measured, else as in every model
///   (host_copy_cost); what only its duration is known of is one block
///
/// Valid for: the device and the kernels that the profile was measured with, inside its range of
/// shapes; quality() says whether an operation is.
class Measured final : public NetworkCostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "measured"; }
  /// Throws InfeasibleError if the device has no profile, or a kernel no class in it; names the
  /// kind and the operation.
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;

  /// Throws as estimate().
  [[nodiscard]] PredictionQuality quality(const Operation& operation, const Device& device) const;
  /// Fitted once per profile and model, then shared; thread-safe. Throws InfeasibleError if the
  /// device has no profile.
  [[nodiscard]] std::shared_ptr<const ProfileFits> fits(const Device& device) const;

 private:
  struct Fitted {
    std::shared_ptr<const KernelProfile> profile;
    std::shared_ptr<const ProfileFits> fits;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Fitted> fitted_;
};

}  // namespace schedlab
