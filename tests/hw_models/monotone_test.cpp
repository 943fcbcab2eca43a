// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/rng.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

Operation gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.name = "gemm",
          .kind = TaskKind::gemm,
          .kernels = {gemm_kernel(m, n, k, DataType::fp32, false)}};
}

Operation pointwise(std::int64_t elements) {
  const auto flops = Flops{10.0 * static_cast<double>(elements)};
  return {.name = "pointwise",
          .kind = TaskKind::pointwise,
          .kernels = {{.kind = TaskKind::pointwise,
                       .flops = flops,
                       .bytes_read = Bytes{elements * 12},
                       .bytes_written = Bytes{elements * 4}}}};
}

/// Log-uniform from 1 to 2^bits.
std::int64_t size(Rng& rng, int bits) {
  const auto exponent = rng.below(static_cast<std::uint64_t>(bits));
  return 1 + static_cast<std::int64_t>(rng.below(std::uint64_t{2} << exponent));
}

std::int64_t narrow_side(const Device& device) {
  std::int64_t side = 0;
  if (device.profile == nullptr) return side;
  for (const MatrixLibrary& library : device.profile->libraries) {
    side = std::max(side, library.narrow_side);
  }
  return side;
}

const std::vector<std::string> estimating_models{"roofline", "tiled_gemm", "local_memory"};

bool is_for(const std::string& model, const Device& device) {
  return model != "local_memory" || device.rates.core_group.known();
}

}  // namespace

TEST_CASE("a larger kernel is never faster, and none is faster than an empty one") {
  Rng rng{2024};
  for (const std::string& name : machine_names()) {
    const MachineSpec machine = load_machine(name);
    const Device& device = machine.platform.devices[DeviceId{0}];
    if (name == "processors") continue;  // has no rates: for tasks with durations of their own
    for (const std::string& model_name : estimating_models) {
      if (!is_for(model_name, device)) continue;
      const auto model = make_cost_model(model_name);
      for (int i = 0; i < 300; ++i) {
        const std::int64_t m = size(rng, 13), n = size(rng, 13), k = size(rng, 13);
        const std::int64_t more = size(rng, 10);
        CAPTURE(name);
        CAPTURE(model_name);
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CAPTURE(more);
        const Duration base = model->estimate(gemm(m, n, k), device).duration;
        CHECK(base >= device.kernel_floor);
        // A library's narrow kernels can be slower than those of wider products, as measured.
        if (std::min(m, n) > narrow_side(device)) {
          CHECK(model->estimate(gemm(m + more, n, k), device).duration >= base);
          CHECK(model->estimate(gemm(m, n + more, k), device).duration >= base);
        }
        CHECK(model->estimate(gemm(m, n, k + more), device).duration >= base);
        CHECK(model->estimate(gemm(n, m, k), device).duration == base);  // turned by 90 degrees
        const Duration small = model->estimate(pointwise(m), device).duration;
        CHECK(small >= device.kernel_floor);
        CHECK(model->estimate(pointwise(m + more), device).duration >= small);
      }
    }
  }
}

TEST_CASE("no model of a library beats the roofline, and split-k never costs time") {
  Rng rng{7};
  const auto roofline = make_cost_model("roofline");
  const auto tiled = make_cost_model("tiled_gemm", {{"split_k", std::int64_t{1}}});
  const auto split = make_cost_model("tiled_gemm");
  for (const std::string& name : machine_names()) {
    const MachineSpec machine = load_machine(name);
    const Device& device = machine.platform.devices[DeviceId{0}];
    if (name == "processors") continue;  // has no rates: for tasks with durations of their own
    for (int i = 0; i < 300; ++i) {
      const Operation operation = gemm(size(rng, 13), size(rng, 13), size(rng, 13));
      CAPTURE(name);
      CAPTURE(operation.kernels[0].m);
      CAPTURE(operation.kernels[0].n);
      CAPTURE(operation.kernels[0].k);
      const Duration plain = tiled->estimate(operation, device).duration;
      CHECK(plain >= roofline->estimate(operation, device).duration);
      CHECK(split->estimate(operation, device).duration <= plain);
      const double share = tiled->estimate(operation, device).share;
      CHECK((share > 0.0 && share <= 1.0));
    }
  }
}

}  // namespace schedlab
