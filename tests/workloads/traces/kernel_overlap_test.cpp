// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/kernel_overlap.hpp"

#include "tests/workloads/traces/imported_trace_maker.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace schedlab {
namespace {

/// Of kernel k: twice alone (40 and 42 us), once wholly and once half beside stream 9.
ImportedTrace overlapping() {
  testing::ImportedTraceMaker maker;
  maker.kernel("k", 7, 0, 10, 50);
  maker.kernel("k", 7, 1, 100, 142);
  maker.kernel("k", 7, 2, 200, 260);
  maker.kernel("send", 9, 3, 190, 270);
  maker.kernel("k", 7, 4, 300, 350);
  maker.kernel("send", 9, 5, 325, 345);
  maker.kernel("send", 9, 6, 345, 400);
  return std::move(maker).done();
}

TEST_CASE("how much of a kernel's time another stream is at work") {
  const ImportedTrace trace = overlapping();
  std::vector<double> of_stream_7;
  const std::vector<double> shares = shares_beside(trace);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (trace.device_rows[i].stream == 7) of_stream_7.push_back(shares[i]);
  }
  CHECK(of_stream_7 == std::vector<double>{0.0, 0.0, 1.0, 0.5});
  CHECK(shares[2] == 0.75);  // the first send: from 200 to 260 of 190 to 270
}

TEST_CASE("kernels alone against the same kernels beside others") {
  const std::vector<KernelOverlap> overlaps = kernel_overlaps(overlapping());
  REQUIRE(overlaps.size() == 1);
  CHECK(overlaps[0].alone.size() == 2);
  CHECK(to_us(KernelOverlap::median(overlaps[0].alone)) == 42);
  CHECK(overlaps[0].beside.size() == 1);
  CHECK(to_us(KernelOverlap::median(overlaps[0].beside)) == 60);
  CHECK(to_us(overlaps[0].known_alone()) == 42);
}

TEST_CASE("a time alone is taken where it is known") {
  std::vector<double> durations;
  for (const Duration each : durations_alone(overlapping())) durations.push_back(to_us(each));
  CHECK(durations == std::vector<double>{40, 42, 80, 42, 42, 20, 55});
  // Two that are further apart than 10 % may be of two shapes.
  ImportedTrace trace = overlapping();
  trace.device_rows[0].ended = Time{std::chrono::microseconds{46}};
  CHECK(to_us(durations_alone(trace)[3]) == 60);
  // One that is faster beside others is of another shape, too.
  trace = overlapping();
  trace.device_rows[3].ended = trace.device_rows[3].started + std::chrono::microseconds{30};
  CHECK(to_us(durations_alone(trace)[3]) == 30);
}

}  // namespace
}  // namespace schedlab
