// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::engine {

/// The order that the legacy default stream of a device and its blocking streams keep without being
/// told: an operation of the one starts event_latency after all operations of the other that were
/// put in before it are complete, at the earliest (Amert et al., RTSS 2017, rules N1 and N2).
///
/// The operations of a device, in the order of their calls, fall into epochs: runs of operations
/// of the legacy stream, and runs of those of blocking streams. An epoch begins when the one before
/// it is complete, which is the same, because an epoch that has begun has all before it complete.
/// So one number of open operations per epoch is all the state there is.
///
/// Cost    O(1) per operation of such a stream, besides looking once at every head that is held.
/// Memory  4 bytes per item of the run and per epoch; nothing where no stream takes part.
class LegacyOrder {
 public:
  void reset() {
    devices_.clear();
    epoch_.clear();
  }
  [[nodiscard]] bool has_legacy(DeviceId device) const {
    return device.value() < devices_.size() && devices_[device.value()].opened;
  }
  /// The device's legacy stream is used from here on.
  void open_legacy(DeviceId device) { at(device).opened = true; }

  /// An operation has been put into a blocking stream, or the legacy one, of the device.
  /// `wake(connection)` is called for heads that need no longer be held.
  template <class Wake>
  void enter(DeviceId device, bool legacy, std::uint32_t item, Duration latency, const Wake& wake) {
    Order& order = at(device);
    if (order.pending.empty() || order.last_is_legacy != legacy) {
      order.pending.push_back(0);
      order.last_is_legacy = legacy;
    }
    ++order.pending.back();
    if (item >= epoch_.size()) epoch_.resize(item + std::size_t{1});
    epoch_[item] = static_cast<std::uint32_t>(order.pending.size() - 1);
    if (order.pending[order.begun] == 0) begin_next(order, latency, wake);
  }

  /// One of the epoch that has begun is complete.
  template <class Wake>
  void leave(DeviceId device, Time now, Duration latency, const Wake& wake) {
    Order& order = devices_[device.value()];
    order.completed = now;
    if (--order.pending[order.begun] == 0) begin_next(order, latency, wake);
  }

  /// Has the item's epoch begun?
  [[nodiscard]] bool begun(DeviceId device, std::uint32_t item) const {
    return epoch_[item] == devices_[device.value()].begun;
  }
  /// The connection's head is of a later epoch: wake the connection when the next one begins.
  void hold(DeviceId device, std::uint32_t connection) {
    devices_[device.value()].held.push_back(connection);
  }
  /// When the operations of the epoch that has begun may start.
  [[nodiscard]] Time start_of_epoch(DeviceId device) const {
    return devices_[device.value()].start;
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t bytes = devices_.capacity() * sizeof(Order);
    bytes += epoch_.capacity() * sizeof(std::uint32_t);
    for (const Order& order : devices_) {
      bytes += (order.pending.capacity() + order.held.capacity()) * sizeof(std::uint32_t);
    }
    return bytes;
  }

 private:
  struct Order {
    std::vector<std::uint32_t> pending;  // by epoch: operations that are not complete
    std::vector<std::uint32_t> held;     // connections whose head is of an epoch that has not begun
    std::uint32_t begun = 0;             // the latest epoch that has begun
    bool last_is_legacy = false;         // of the latest operation
    bool opened = false;
    Time completed{};  // of the latest operation that is complete
    Time start{};      // of operations of the epoch that has begun, at the earliest
  };

  Order& at(DeviceId device) {
    if (device.value() >= devices_.size()) devices_.resize(device.value() + std::size_t{1});
    return devices_[device.value()];
  }

  /// Only one can begin: every later one has an operation that is not complete.
  template <class Wake>
  static void begin_next(Order& order, Duration latency, const Wake& wake) {
    if (order.begun + std::size_t{1} == order.pending.size()) return;
    ++order.begun;
    order.start = order.completed + latency;
    for (const std::uint32_t connection : order.held) wake(connection);
    order.held.clear();
  }

  std::vector<Order> devices_;
  std::vector<std::uint32_t> epoch_;  // by item; of others than such operations without meaning
};

}  // namespace schedlab::engine
