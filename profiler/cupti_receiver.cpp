// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_receiver.hpp"

#include "sim/base/error.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace schedlab {
namespace {

struct Received {
  std::mutex mutex;
  bool open = false;
  bool opened_before = false;
  std::size_t buffer_bytes = 0;
  std::vector<CuptiReceiver::Filled> filled;
  std::uint64_t lost_buffers = 0;
};

Received& received() {
  static Received only;
  return only;
}

}  // namespace

std::span<std::uint8_t> CuptiReceiver::Filled::records() const {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): raw memory
  return {reinterpret_cast<std::uint8_t*>(memory.get()), valid_bytes};
}

void CuptiReceiver::open(std::size_t buffer_bytes) {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  if (to.opened_before) {
    throw DeviceError(
        "this process has had its CUPTI session: run what else is to be profiled in another "
        "process");
  }
  to.opened_before = true;
  to.open = true;
  to.buffer_bytes = buffer_bytes;
}

void CuptiReceiver::close() {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  to.open = false;
}

void CuptiReceiver::withdraw() {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  to.open = false;
  to.opened_before = false;
}

std::vector<CuptiReceiver::Filled> CuptiReceiver::take_filled() {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  return std::exchange(to.filled, {});
}

std::uint64_t CuptiReceiver::take_lost_buffers() {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  return std::exchange(to.lost_buffers, 0);
}

void CUPTIAPI CuptiReceiver::give_buffer(std::uint8_t** buffer,
                                         std::size_t* size,
                                         std::size_t* max_records) {
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  *max_records = 0;  // as many as fit
  const std::size_t words = to.buffer_bytes / sizeof(std::uint64_t);
  auto* const memory = new (std::nothrow) std::uint64_t[words];  // NOLINT: given to CUPTI
  // Without memory CUPTI drops records and counts them.
  *size = memory == nullptr ? 0 : words * sizeof(std::uint64_t);
  *buffer = reinterpret_cast<std::uint8_t*>(memory);  // NOLINT(*-reinterpret-cast): raw memory
}

void CUPTIAPI CuptiReceiver::take_buffer(CUcontext /*context*/,
                                         std::uint32_t /*stream*/,
                                         std::uint8_t* buffer,
                                         std::size_t /*size*/,
                                         std::size_t valid_bytes) {
  Filled filled{.memory = {}, .valid_bytes = valid_bytes};
  filled.memory.reset(reinterpret_cast<std::uint64_t*>(buffer));  // NOLINT: from give_buffer
  Received& to = received();
  const std::scoped_lock lock{to.mutex};
  if (!to.open || valid_bytes == 0) return;
  try {
    to.filled.push_back(std::move(filled));
  } catch (const std::bad_alloc&) {
    ++to.lost_buffers;  // an exception must not pass through CUPTI
  }
}

}  // namespace schedlab
