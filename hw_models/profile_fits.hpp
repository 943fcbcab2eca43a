// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/kernel_fit.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// The samples of a profile that were measured in one operation, with one kind and data type, and
/// do the same work per element (an LSTM's cell and a GRU's are two classes), what was fitted to
/// them, and how well that predicts shapes it has not seen.
class KernelClass {
 public:
  /// `samples`: not empty, of one operation, kind and data type.
  explicit KernelClass(std::vector<KernelSample> samples, const MemoryTime& memory = {});

  [[nodiscard]] const std::string& operation() const { return samples_.front().operation; }
  [[nodiscard]] TaskKind kind() const { return samples_.front().kernel.kind; }
  [[nodiscard]] DataType type() const { return samples_.front().kernel.type; }
  [[nodiscard]] const std::vector<KernelSample>& samples() const { return samples_; }
  [[nodiscard]] const KernelFit& fit() const { return fit_; }
  /// True for kernels that were measured for their kind alone, whatever they belong to: their
  /// operation is named like the kind, of products also like a layout
  /// (sim/graph/product_layout.hpp).
  [[nodiscard]] bool generic() const;

  /// Does the kernel do the same work per element as the samples, at whatever size? Matrix kernels:
  /// add into their result or not; others: FLOPs and bytes read per byte written within 23 % of
  /// some sample's.
  [[nodiscard]] bool same_work(const Kernel& kernel) const;
  /// How far the kernel is from the nearest sample, in octaves of its shape; a fused bias that only
  /// one of the two has counts as half an octave, other work per byte ten times its octaves.
  [[nodiscard]] double distance(const Kernel& kernel) const;
  /// Inside the box that the samples span (sides and blocks, with 1 % to spare).
  [[nodiscard]] bool in_calibrated_range(const Kernel& kernel) const;
  /// "m 12..80, n 96..640, k 384..2560, blocks 1..2"
  [[nodiscard]] std::string range_text() const;

  /// Sorted: measured over predicted of samples whose shape was left out of the fit. With fewer
  /// than 3 shapes, where none can be: what the repetitions scatter.
  [[nodiscard]] const std::vector<double>& ratios() const { return ratios_; }
  /// The working set that each of ratios() was measured in, which tells the models of a calibration
  /// apart. What was measured in one model was measured at one time, and at one shape.
  [[nodiscard]] const std::vector<Bytes>& working_sets() const { return working_sets_; }
  /// True if ratios() are of left-out shapes.
  [[nodiscard]] bool held_out() const { return held_out_; }
  /// The error that the share `part` of |predicted / measured - 1| over ratios() is below.
  [[nodiscard]] double error(double part) const;

 private:
  std::vector<KernelSample> samples_;
  KernelFit fit_;
  std::vector<double> ratios_;
  std::vector<Bytes> working_sets_;
  bool held_out_ = false;
};

/// All classes of a profile, and which of them a kernel belongs to.
class ProfileFits {
 public:
  /// Cost: of the fits and their held-out errors, some 10 ms for a few hundred samples.
  explicit ProfileFits(const KernelProfile& profile);

  [[nodiscard]] const std::vector<KernelClass>& classes() const { return classes_; }
  /// The class of a kernel of `operation`; nullptr if there is none. In this order:
  ///   1. the class of the operation's name, if it launches one kernel, which does the same work;
  ///   2. an operation of several kernels says nothing of each: the nearest class that does the
  ///      same work;
  ///   3. the generic class of its kind, of products that of its layout before any other;
  ///   4. the nearest class that does the same work.
  /// Where classes are equally near, as those of the two data gradients of a layer as wide as its
  /// input, the first of equal kernels of an operation takes the first, the next one the next.
  /// `before`: how many kernels before it in the operation are equal to it.
  [[nodiscard]] const KernelClass* find(const Operation& operation,
                                        const Kernel& kernel,
                                        std::size_t before = 0) const;

 private:
  [[nodiscard]] const KernelClass* nearest(const Kernel& kernel, std::size_t before) const;

  std::vector<KernelClass> classes_;  // in the order of the profile
};

}  // namespace schedlab
