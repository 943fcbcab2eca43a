// SPDX-License-Identifier: Apache-2.0
#include "profiler/kernels_in_flight.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace schedlab;
using namespace std::chrono_literals;

namespace {

ActivityTime at(std::chrono::nanoseconds time) {
  return ActivityTime{time};
}

KernelActivity kernel(std::chrono::nanoseconds from,
                      std::chrono::nanoseconds to,
                      std::uint32_t stream) {
  KernelActivity made;
  made.started = at(from);
  made.ended = at(to);
  made.place.stream = stream;
  return made;
}

/// The host's clock is 1 us ahead of the log's.
ActivityLog log_of(std::vector<KernelActivity> kernels) {
  ActivityLog log;
  log.kernels = std::move(kernels);
  log.clock.host_origin = Time{1us};
  return log;
}

}  // namespace

TEST_CASE("kernels in flight: mean over the time with any, streams counted once") {
  // 0..10 one, 10..20 two, 20..30 one (the second ends as the third begins), 40..50 one.
  const ActivityLog log = log_of(
      {kernel(0ns, 20ns, 7), kernel(10ns, 20ns, 8), kernel(20ns, 30ns, 7), kernel(40ns, 50ns, 9)});
  const KernelsInFlight all = kernels_in_flight(log, Time{1us}, Time{2us});
  CHECK(all.kernels == 4);
  CHECK(all.streams == 3);
  CHECK(all.busy == 40ns);
  CHECK(all.mean == doctest::Approx((10 + 20 + 10 + 10) / 40.0));
  CHECK(all.max == 2);
}

TEST_CASE("kernels in flight: only those that start in the window of the host's clock") {
  const ActivityLog log = log_of({kernel(0ns, 20ns, 7), kernel(10ns, 20ns, 8)});
  const KernelsInFlight second = kernels_in_flight(log, Time{1us + 10ns}, Time{1us + 11ns});
  CHECK(second.kernels == 1);
  CHECK(second.mean == 1.0);
  CHECK(kernels_in_flight(log, Time{1us + 11ns}, Time{2us}) == KernelsInFlight{});
}

TEST_CASE("kernels in flight: a kernel without duration does no harm") {
  const ActivityLog log = log_of({kernel(5ns, 5ns, 7), kernel(5ns, 9ns, 8)});
  const KernelsInFlight found = kernels_in_flight(log, Time{1us}, Time{2us});
  CHECK(found.kernels == 2);
  CHECK(found.busy == 4ns);
  CHECK(found.max == 1);
}
