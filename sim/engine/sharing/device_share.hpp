// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/bandwidth_share.hpp"
#include "sim/engine/sharing/co_resident_share.hpp"

#include <memory>
#include <utility>

namespace schedlab::fluid {

/// How fast the kernels of one device progress: BandwidthShare, which minds nothing as long as all
/// are given the bandwidth they want; where units may be asked for more than they get done,
/// CoResidentShare, which minds all running kernels at all times.
///
/// The members are BandwidthShare's.
class DeviceShare {
 public:
  /// `oversubscribed`: may more blocks reside on a unit than it runs at full rate?
  void reset(const Device& device,
             const std::vector<std::uint32_t>& partitions,
             bool oversubscribed) {
    bandwidth_.reset();
    collectives_.reset();
    saturated_ = oversubscribed || device.co_residency_factor < 1.0;
    if (!saturated_) {
      units_.reset();
      return;
    }
    if (!units_) units_ = std::make_unique<CoResidentShare>();
    units_->reset(device, partitions);
  }
  [[nodiscard]] bool minds_units() const { return units_ != nullptr; }
  /// Where it minds units, of every kernel before its first block.
  void describe(std::uint32_t index, const UnitNeed& need) { units_->describe(index, need); }

  /// May some be slowed down? Then the events of kernels are kept here.
  [[nodiscard]] bool saturated() const { return saturated_; }
  [[nodiscard]] bool overbooked() const { return bandwidth_.overbooked(collectives_.left()); }
  [[nodiscard]] std::int64_t own_time(const Kernel& kernel, std::int64_t now, bool& ticked) const {
    return units_ ? units_->own_time(kernel, now, ticked)
                  : bandwidth_.own_time(kernel, now, ticked);
  }
  /// Collectives that move data beside the kernels; share() must follow a change.
  [[nodiscard]] CollectiveBandwidth& collectives() { return collectives_; }
  void update_demand(std::uint32_t index, std::vector<Kernel>& kernels, std::int64_t now) {
    units_ ? units_->update_demand(index, kernels, now)
           : bandwidth_.update_demand(index, kernels, now);
  }
  void set_demand(Kernel& kernel) { bandwidth_.set_demand(kernel); }

  /// Whether the next event of a kernel with running blocks is kept here.
  [[nodiscard]] bool holds(const Kernel& kernel) const {
    return units_ != nullptr || bandwidth_.holds(kernel);
  }
  void set_event(const Kernel& kernel, std::int64_t own_time) {
    units_ ? units_->set_event(kernel, own_time) : bandwidth_.set_event(kernel, own_time);
  }
  bool share(std::vector<Kernel>& kernels, std::int64_t now) {
    if (units_) {
      units_->share(kernels, collectives_, now);
    } else {
      saturated_ = bandwidth_.share(kernels, collectives_, now);
    }
    return saturated_;
  }
  [[nodiscard]] std::int64_t next_event() const {
    return units_ ? units_->next_event() : bandwidth_.next_event();
  }
  [[nodiscard]] std::uint32_t due_alone() const {
    return units_ ? units_->due_alone() : bandwidth_.due_alone();
  }
  void take_due(std::vector<std::uint32_t>& due) {
    units_ ? units_->take_due(due) : bandwidth_.take_due(due);
  }
  template <class Hold>
  void begin(const std::vector<std::uint32_t>& running,
             std::vector<Kernel>& kernels,
             std::int64_t now,
             Hold&& hold) {
    bandwidth_.begin(running, kernels, now, std::forward<Hold>(hold));
    saturated_ = true;
  }
  template <class Release>
  void release(Release&& release) {
    bandwidth_.release(std::forward<Release>(release));
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return bandwidth_.memory_bytes() +
           (units_ ? sizeof(CoResidentShare) + units_->memory_bytes() : 0);
  }

 private:
  BandwidthShare bandwidth_;
  CollectiveBandwidth collectives_;
  bool saturated_ = false;
  std::unique_ptr<CoResidentShare> units_;
};

}  // namespace schedlab::fluid
