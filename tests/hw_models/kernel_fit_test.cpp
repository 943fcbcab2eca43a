// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_fit.hpp"

#include "hw_models/profile_fits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "tests/hw_models/synthetic_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

using testing::synthetic_profile;
using testing::true_seconds;
using testing::with_blocks;

std::vector<KernelSample> of(const KernelProfile& profile, std::string_view operation) {
  std::vector<KernelSample> samples;
  for (const KernelSample& sample : profile.samples) {
    if (sample.operation == operation) samples.push_back(sample);
  }
  return samples;
}

std::vector<double> absolute_errors(const std::vector<double>& ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(1 / ratio - 1));
  std::sort(errors.begin(), errors.end());
  return errors;
}

}  // namespace

TEST_CASE("a formula of the fitted kind is recovered, for all shapes and cuts") {
  // Point-wise kernels of the made-up CPU are exactly 1 us + a FLOPs + b bytes.
  const KernelFit fit{of(synthetic_profile(0.0), "cell")};
  for (const std::int64_t hidden : {128, 256, 512}) {
    for (const std::int64_t batch : {8, 16, 32, 64}) {
      for (const std::uint32_t blocks : {1U, 2U}) {
        const Kernel kernel = with_blocks(
            cell_kernel({.batch = batch, .hidden = hidden, .width = hidden}, 1), blocks);
        CHECK(fit.seconds(kernel, 2) == doctest::Approx(true_seconds(kernel, 2)).epsilon(0.002));
      }
    }
  }
}

TEST_CASE("what the costs miss is interpolated between samples") {
  // Matrix kernels have a dip of 20 % over m that no cost explains.
  const KernelFit fit{of(synthetic_profile(0.0), "hidden_1")};
  double worst = 0;
  for (const std::int64_t hidden : {128, 256, 512}) {
    for (const std::int64_t batch : {16, 32, 64}) {
      const Kernel kernel =
          with_blocks(hidden_1_kernel({.batch = batch, .hidden = hidden, .width = hidden}), 2);
      worst = std::max(worst, std::abs(fit.seconds(kernel, 2) / true_seconds(kernel, 2) - 1));
    }
  }
  CHECK(worst < 0.02);
}

TEST_CASE("noise is smoothed: predictions are closer to the truth than single samples") {
  constexpr double noise = 0.03;
  const std::vector<KernelSample> samples = of(synthetic_profile(noise), "weight_1");
  const KernelFit fit{samples};
  std::vector<double> errors;
  for (const KernelSample& sample : samples) {
    errors.push_back(std::abs(fit.seconds(sample.kernel, 2) / true_seconds(sample.kernel, 2) - 1));
  }
  // The median of |normal| is 0.67 standard deviations.
  CHECK(median(errors) < 0.67 * noise);
}

TEST_CASE("held-out errors tell the noise and not less") {
  for (const double noise : {0.0, 0.02, 0.05}) {
    CAPTURE(noise);
    const std::vector<KernelSample> samples = of(synthetic_profile(noise), "weight_1");
    const std::vector<double> errors =
        absolute_errors(held_out_ratios(samples, KernelFit{samples}));
    REQUIRE(errors.size() == 72);
    const double middle = errors[36];
    // A left-out sample misses by its own noise (median 0.67 deviations) and that of its
    // neighbours, and by what cannot be interpolated.
    CHECK(middle >= 0.5 * noise);
    CHECK(middle < 0.01 + 1.2 * noise);
  }
}

TEST_CASE("held-out shapes are left out with all their cuts") {
  // A shape that behaves unlike all others: were one of its cuts kept, the other would be guessed.
  std::vector<KernelSample> samples = of(synthetic_profile(0.0), "cell");
  for (KernelSample& sample : samples) {
    if (sample.kernel.flops == samples.front().kernel.flops) sample.duration *= 2;
  }
  const std::vector<double> ratios = held_out_ratios(samples, KernelFit{samples});
  CHECK(ratios[0] > 1.7);
  CHECK(ratios[1] > 1.7);
}

TEST_CASE("with too few shapes nothing can be held out") {
  std::vector<KernelSample> samples = of(synthetic_profile(0.01, {96}, {12, 20}), "cell");
  REQUIRE(samples.size() == 4);
  CHECK(held_out_ratios(samples, KernelFit{samples}).empty());
  const KernelClass one{samples};
  CHECK_FALSE(one.held_out());
  CHECK(one.ratios().front() < 1.0);
  CHECK(one.ratios().back() > 1.0);
  samples.resize(1);  // a single sample predicts itself
  CHECK(KernelFit{samples}.seconds(samples[0].kernel, 2) ==
        doctest::Approx(to_seconds(samples[0].duration)));
  CHECK_THROWS_AS((KernelFit{std::vector<KernelSample>{}}), ContractViolation);
}

TEST_CASE("costs that grow with FLOPs, with bytes and with neither are told apart") {
  const KernelFit fit{of(synthetic_profile(0.0), "cell")};
  const Kernel kernel = with_blocks(cell_kernel({.batch = 48, .hidden = 384, .width = 384}, 1), 1);
  const KernelFit::Parts parts = fit.parts(kernel, 2);
  // FLOPs and bytes of one kind of point-wise kernel grow together: only their sum is known.
  const auto bytes = static_cast<double>((kernel.bytes_read + kernel.bytes_written).count());
  CHECK(parts.flops + parts.bytes ==
        doctest::Approx(kernel.flops.count() / 50e9 + bytes / 20e9).epsilon(0.005));
  CHECK(parts.fixed == doctest::Approx(1e-6).epsilon(0.05));
}

namespace {

/// Of `operation`, each sample with all operands in the cache and with none of them, where each
/// byte of the unit that reads most then takes 1 / (10 GB/s) more.
std::vector<KernelSample> in_and_out_of_cache(std::string_view operation) {
  std::vector<KernelSample> samples;
  for (KernelSample sample : of(synthetic_profile(0.0), operation)) {
    sample.kernel.working_set = Bytes{1'000'000};
    sample.kernel.bytes_cached = sample.kernel.bytes_read;
    samples.push_back(sample);
    const auto read = static_cast<double>(sample.kernel.bytes_read.count());
    sample.duration += round_up_seconds(read / sample.kernel.grid.blocks / 10e9);
    sample.kernel.bytes_cached = Bytes{0};
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

TEST_CASE("operands that are not in the cache take the time of memory, in part where part is") {
  const std::vector<KernelSample> samples = in_and_out_of_cache("hidden_1");
  const KernelFit fit{samples, fit_memory({samples})};
  Kernel kernel = with_blocks(hidden_1_kernel({.batch = 32, .hidden = 512, .width = 512}), 2);
  kernel.working_set = Bytes{1'000'000};
  const auto read = static_cast<double>(kernel.bytes_read.count());
  for (const double share : {0.0, 0.5, 1.0}) {
    CAPTURE(share);
    kernel.bytes_cached = Bytes{static_cast<std::int64_t>(share * read)};
    const double seconds = true_seconds(kernel, 2) + (1 - share) * read / 2 / 10e9;
    CHECK(fit.seconds(kernel, 2) == doctest::Approx(seconds).epsilon(0.04));
  }
  // Where it is not known what is there, it is as in the samples on average: half of them.
  kernel.working_set = Bytes{0};
  kernel.bytes_cached = Bytes{0};
  CHECK(fit.seconds(kernel, 2) ==
        doctest::Approx(true_seconds(kernel, 2) + read / 4 / 10e9).epsilon(0.04));
}

TEST_CASE("the times per byte from memory and from the last-level cache are told apart") {
  // Of each sample: operands in the unit's own cache, in the last-level cache (45 GB/s), in none
  // (12 GB/s more).
  std::vector<std::vector<KernelSample>> classes;
  for (const char* operation : {"hidden_1", "input_gemm"}) {
    std::vector<KernelSample>& samples = classes.emplace_back();
    for (KernelSample sample : of(synthetic_profile(0.0), operation)) {
      Kernel& kernel = sample.kernel;
      const Bytes read = kernel.bytes_read;
      const double of_unit = static_cast<double>(read.count()) / kernel.grid.blocks;
      kernel.working_set = Bytes{1'000'000};
      kernel.bytes_cached = read;
      kernel.bytes_unit_cached = read;
      samples.push_back(sample);
      kernel.bytes_unit_cached = Bytes{0};
      sample.duration += round_up_seconds(of_unit / 45e9);
      samples.push_back(sample);
      kernel.bytes_cached = Bytes{0};
      sample.duration += round_up_seconds(of_unit / 12e9);
      samples.push_back(sample);
    }
  }
  const MemoryTime memory = fit_memory(classes);
  CHECK(memory.seconds_per_byte == doctest::Approx(1 / 12e9));
  CHECK(memory.seconds_per_cached_byte == doctest::Approx(1 / 45e9));
  CHECK(memory.overlap == 1);
  const KernelFit fit{classes.front(), memory};
  Kernel kernel = with_blocks(hidden_1_kernel({.batch = 32, .hidden = 512, .width = 512}), 2);
  kernel.working_set = Bytes{1'000'000};
  const auto read = static_cast<double>(kernel.bytes_read.count());
  kernel.bytes_cached = kernel.bytes_read;
  for (const double near : {0.0, 0.5, 1.0}) {
    CAPTURE(near);
    kernel.bytes_unit_cached = Bytes{static_cast<std::int64_t>(near * read)};
    CHECK(fit.seconds(kernel, 2) ==
          doctest::Approx(true_seconds(kernel, 2) + (1 - near) * read / 2 / 45e9).epsilon(0.02));
  }
}

TEST_CASE("samples that do not know what was in the cache have no time of memory") {
  CHECK(fit_memory({of(synthetic_profile(0.0), "hidden_1")}) == MemoryTime{});
}

}  // namespace schedlab
