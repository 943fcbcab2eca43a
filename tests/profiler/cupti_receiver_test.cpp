// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_receiver.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using schedlab::CuptiReceiver;

TEST_CASE("buffers are kept while the receiver is open, and only one session may open it") {
  CuptiReceiver::open(4096);
  CHECK_THROWS_AS(CuptiReceiver::open(4096), schedlab::DeviceError);
  const auto deliver = [](std::size_t valid_bytes) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t max_records = 99;
    CuptiReceiver::give_buffer(&buffer, &size, &max_records);
    REQUIRE(buffer != nullptr);
    CHECK(size == 4096);
    CHECK(max_records == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 8 == 0);
    buffer[0] = 42;
    CuptiReceiver::take_buffer(nullptr, 0, buffer, size, valid_bytes);
  };
  deliver(16);
  deliver(0);  // nothing in it
  auto filled = CuptiReceiver::take_filled();
  REQUIRE(filled.size() == 1);
  CHECK(filled[0].records().size() == 16);
  CHECK(filled[0].records()[0] == 42);

  CuptiReceiver::close();
  deliver(16);
  CHECK(CuptiReceiver::take_filled().empty());
  CHECK(CuptiReceiver::take_lost_buffers() == 0);
  CHECK_THROWS_AS(CuptiReceiver::open(4096), schedlab::DeviceError);
  CuptiReceiver::withdraw();  // as if nothing had been recorded
  CuptiReceiver::open(4096);
  CuptiReceiver::withdraw();
}
