// SPDX-License-Identifier: Apache-2.0
// What holds with and without a device.
#include "real_exec/cuda/cuda_executor.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

using namespace schedlab;

TEST_CASE("without a device the reason is given, and making an executor throws it") {
  const CudaAvailability found = cuda_available();
  CHECK_FALSE(found.reason.empty());
  if (found.available) {
    CHECK_NOTHROW(CudaExecutor{});
  } else {
    CHECK_THROWS_WITH_AS(CudaExecutor{}, found.reason.c_str(), DeviceError);
  }
  CHECK_FALSE(cuda_available(1000).available);
}

TEST_CASE("words for precisions and timings go there and back") {
  for (const CudaPrecision precision :
       {CudaPrecision::fp32, CudaPrecision::tf32, CudaPrecision::bf16}) {
    CHECK(enum_from<CudaPrecision>(to_string(precision)) == precision);
  }
  CHECK(cuda_precision_of(DataType::bf16) == CudaPrecision::bf16);
  CHECK_FALSE(cuda_precision_of(DataType::fp16).has_value());
  CHECK_FALSE(enum_from<CudaPrecision>("fp8").has_value());
  for (const TaskTiming timing : {TaskTiming::none, TaskTiming::events, TaskTiming::profiler}) {
    CHECK(enum_from<TaskTiming>(to_string(timing)) == timing);
  }
}
