// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// An array of an emitted program.
struct EmittedArray {
  std::size_t number = 0;  ///< in the order of their making, which no address decides
  std::size_t bytes = 0;
  std::string type = "float";
  std::string name{};
  std::shared_ptr<std::vector<std::byte>> host{};  ///< of an array on the host
};

/// Memory of an emitted program: addresses with nothing behind them, but for arrays of the host.
class EmittedMemory {
 public:
  [[nodiscard]] void* add(std::size_t bytes);
  [[nodiscard]] std::shared_ptr<void> add_host(std::size_t bytes);
  /// Memory of the host that was not asked for, which is pageable; once.
  void add_pageable(const void* data, std::size_t bytes);
  /// Of the array that begins at `data`; nullptr: nothing.
  void name(const void* data, std::string_view type, std::string name);
  void name_the_rest();

  /// The address in the emitted program, of elements of this type. ContractViolation outside of all
  /// arrays.
  [[nodiscard]] std::string text(const void* data, std::string_view type = "float");
  /// In the order of their making.
  [[nodiscard]] std::vector<const EmittedArray*> arrays() const;
  [[nodiscard]] static std::uintptr_t address(const void* data);

 private:
  std::pair<std::uintptr_t, EmittedArray&> find(const void* data);

  std::map<std::uintptr_t, EmittedArray> arrays_;
  std::uintptr_t next_ = std::uintptr_t{1} << 60U;  // above all addresses of a process
};

}  // namespace schedlab
