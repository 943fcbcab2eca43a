// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace schedlab {

/// An index that cannot be mistaken for an index of something else. Default: `none()`.
template <class Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t value) : value_(value) {}

  [[nodiscard]] static constexpr StrongId none() { return StrongId{}; }
  [[nodiscard]] constexpr bool valid() const { return value_ != none_value; }
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  constexpr StrongId& operator++() {
    ++value_;
    return *this;
  }

 private:
  static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value_ = none_value;
};

using TaskId = StrongId<struct TaskIdTag>;
using OperationId = StrongId<struct OperationIdTag>;
using TensorId = StrongId<struct TensorIdTag>;
using StreamId = StrongId<struct StreamIdTag>;
using EventId = StrongId<struct EventIdTag>;
using DeviceId = StrongId<struct DeviceIdTag>;
using HostId = StrongId<struct HostIdTag>;  ///< a host thread
using UnitClassId =
    StrongId<struct UnitClassIdTag>;  ///< a named class of compute units of a device

/// The ids first..last-1, for range-for.
template <class Id>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(Id id) : id_(id) {}
    constexpr Id operator*() const { return id_; }
    constexpr Iterator& operator++() {
      ++id_;
      return *this;
    }
    constexpr Iterator operator++(int) {
      Iterator old = *this;
      ++id_;
      return old;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    Id id_;
  };

  constexpr explicit IdRange(std::size_t size) : size_(static_cast<std::uint32_t>(size)) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator{Id{0}}; }
  [[nodiscard]] constexpr Iterator end() const { return Iterator{Id{size_}}; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  std::uint32_t size_;
};

/// A vector that is indexed by one kind of id and refuses all others.
template <class Id, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T{}) : items_(size, value) {}
  explicit IdVector(std::vector<T> items) : items_(std::move(items)) {}

  [[nodiscard]] decltype(auto) operator[](Id id) { return items_[id.value()]; }
  [[nodiscard]] decltype(auto) operator[](Id id) const { return items_[id.value()]; }
  /// Appends and returns the new id.
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id{static_cast<std::uint32_t>(items_.size() - 1)};
  }
  void resize(std::size_t size, const T& value = T{}) { items_.resize(size, value); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void assign(std::size_t size, const T& value) { items_.assign(size, value); }
  void clear() { items_.clear(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool contains(Id id) const { return id.value() < items_.size(); }
  [[nodiscard]] IdRange<Id> ids() const { return IdRange<Id>{items_.size()}; }
  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  [[nodiscard]] const std::vector<T>& raw() const { return items_; }
  [[nodiscard]] std::vector<T>& raw() { return items_; }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace schedlab

template <class Tag>
struct std::hash<schedlab::StrongId<Tag>> {
  std::size_t operator()(schedlab::StrongId<Tag> id) const noexcept { return id.value(); }
};
