// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace schedlab {

/// Where CUPTI delivers its buffers. Its callbacks carry no pointer of ours, and its worker thread
/// may call them until the process ends: this is one object of the process, and locked.
class CuptiReceiver {
 public:
  CuptiReceiver() = delete;

  /// A buffer that CUPTI has filled.
  struct Filled {
    /// Words, as CUPTI wants an alignment of 8.
    std::unique_ptr<std::uint64_t[]> memory;  // NOLINT(*-avoid-c-arrays): comes back from CUPTI
    std::size_t valid_bytes = 0;

    [[nodiscard]] std::span<std::uint8_t> records() const;
  };

  /// Begins to keep buffers. Throws DeviceError if that was done before in this process.
  static void open(std::size_t buffer_bytes);
  /// Buffers that still come are thrown away.
  static void close();
  /// close(), and this process may open again: nothing was recorded.
  static void withdraw();
  [[nodiscard]] static std::vector<Filled> take_filled();
  /// Buffers that had to be thrown away for want of memory, since the last call.
  [[nodiscard]] static std::uint64_t take_lost_buffers();

  static void CUPTIAPI give_buffer(std::uint8_t** buffer,
                                   std::size_t* size,
                                   std::size_t* max_records);
  static void CUPTIAPI take_buffer(CUcontext context,
                                   std::uint32_t stream,
                                   std::uint8_t* buffer,
                                   std::size_t size,
                                   std::size_t valid_bytes);
};

}  // namespace schedlab
