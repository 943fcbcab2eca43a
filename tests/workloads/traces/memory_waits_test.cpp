// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/memory_waits.hpp"

#include "tests/workloads/traces/imported_trace_maker.hpp"
#include "workloads/traces/reconstruct.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

/// A kernel from 20 us to `ended`, and the next one launched at `called`.
ImportedTrace polling(int ended, int called) {
  testing::ImportedTraceMaker maker;
  maker.kernel("count", 7, 10, 20, ended);
  maker.kernel("send", 7, called, std::max(called, ended) + 10, std::max(called, ended) + 50);
  ImportedTrace trace = std::move(maker).done();
  add_memory_waits(trace);
  return trace;
}

TEST_CASE("a host that goes on when its last kernel is nearly done polls its memory") {
  const ImportedTrace trace = polling(3050, 3000);
  const auto found = std::find_if(trace.calls.begin(), trace.calls.end(), [&](const CallRow& call) {
    return trace.texts[call.name] == memory_wait_name;
  });
  REQUIRE(found != trace.calls.end());
  CHECK(to_us(found->started) == 15);
  CHECK(to_us(found->ended) == 3000);
  const ReconstructedTrace order = reconstruct(trace);
  REQUIRE(order.host.size() == 3);
  CHECK(order.host[1].kind == HostStepKind::wait_outside);
}

TEST_CASE("a host that works while its kernels do not is no poller") {
  CHECK(polling(30, 3000).calls.size() == 3);    // the kernel is long done
  CHECK(polling(9000, 3000).calls.size() == 3);  // goes on long after
  CHECK(polling(950, 900).calls.size() == 3);    // too short to tell from chance
}

}  // namespace
}  // namespace schedlab
