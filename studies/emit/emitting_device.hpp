// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent_device/recurrent_device.hpp"
#include "studies/emit/emitted_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// A line that is written once the arrays have names.
using EmittedLine = std::function<std::string()>;

/// A device that writes down what a recurrent network asks of it.
class EmittingDevice final : public detail::RecurrentDevice {
 public:
  [[nodiscard]] std::shared_ptr<void> allocate(std::size_t bytes) override {
    return {memory.add(bytes), [](void*) {}};
  }
  [[nodiscard]] std::shared_ptr<void> allocate_host(std::size_t bytes) override {
    return memory.add_host(bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    numbers(to, bytes, from, bytes, 1);
  }
  void upload_rows(void* to,
                   std::size_t stride,
                   const void* from,
                   std::size_t row_bytes,
                   std::size_t rows) override {
    numbers(to, stride, from, row_bytes, rows);
  }
  void download(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    lines->push_back([=, this] {
      return fmt::format("copy({}, {}, {});", memory.text(to), memory.text(from), bytes);
    });
  }
  void fill(void* to, unsigned char byte, std::size_t bytes) override {
    lines->push_back(
        [=, this] { return fmt::format("fill({}, 0x{:02X}, {});", memory.text(to), byte, bytes); });
  }
  void round_to_bf16(const float* from, detail::Bf16* to, long long elements) override {
    lines->push_back([=, this] {
      return fmt::format("kernels::array::round_to_bf16({}, {}, {}, nullptr);",
                         memory.text(from),
                         memory.text(to, "kernels::Bf16"),
                         elements);
    });
  }

  EmittedMemory memory;
  std::vector<EmittedLine>* lines = nullptr;  ///< where to write down

 private:
  /// Numbers of the same range stand for those that would be uploaded: the program makes its own.
  void numbers(
      void* to, std::size_t stride, const void* from, std::size_t row_bytes, std::size_t rows) {
    const auto* const values = static_cast<const float*>(from);
    const std::size_t count = row_bytes / sizeof(float);
    float scale = 0;
    for (std::size_t i = 0; i < rows * count; ++i) scale = std::max(scale, std::abs(values[i]));
    const auto seed =
        seeds_.try_emplace(EmittedMemory::address(to), seeds_.size() + 1).first->second;
    lines->push_back([=, this] {
      return fmt::format("uniform({}, {}, {}, {}, {:#.6g}F, {});",
                         memory.text(to),
                         rows,
                         count,
                         stride / sizeof(float),
                         scale,
                         seed);
    });
  }

  std::map<std::uintptr_t, std::size_t> seeds_;
};

/// Writes what a task launches as calls of an emitted program; `captures`: within a device graph.
[[nodiscard]] std::unique_ptr<detail::RecurrentQueue> emitting_queue(
    EmittingDevice& device, std::vector<EmittedLine>& lines, bool captures);

}  // namespace schedlab
