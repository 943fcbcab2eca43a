// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/message_codec.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace schedlab;

namespace {

std::vector<float> there_and_back(Compression compression,
                                  const std::vector<float>& values,
                                  std::int64_t samples) {
  const auto elements = static_cast<std::int64_t>(values.size()) / samples;
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(samples * encoded_bytes(compression, elements).count()));
  encode(compression, values, samples, bytes);
  std::vector<float> result(values.size());
  decode(compression, bytes, samples, result);
  return result;
}

/// Of sizes from 1e-6 to 1.
std::vector<float> random_values(std::size_t count) {
  Rng rng(7);
  std::vector<float> values(count);
  for (float& value : values) {
    const double size = std::pow(10.0, -6 * rng.uniform());
    value = static_cast<float>(rng.below(2) == 0 ? size : -size);
  }
  return values;
}

}  // namespace

TEST_CASE("without compression values travel as they are") {
  const std::vector<float> values = random_values(60);
  CHECK(encoded_bytes(Compression::none, 20) == Bytes{80});
  CHECK(there_and_back(Compression::none, values, 3) == values);
}

TEST_CASE("a bf16 is off by at most 1/256, and has half the bytes") {
  const std::vector<float> values = random_values(10'000);
  CHECK(encoded_bytes(Compression::bf16, 20) == Bytes{40});
  const std::vector<float> found = there_and_back(Compression::bf16, values, 4);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) / values[i] - 1));
  }
  CHECK(worst <= 1.0 / 256);
  CHECK(worst > 1.0 / 512);  // it does lose something
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  // Eight bits of precision: steps of 1/128 from 1 on.
  const std::vector<float> values{1.0F, 1.0F + 3.0F / 1024, 1.0F + 1.0F / 256, 1.0F + 3.0F / 256};
  CHECK(there_and_back(Compression::bf16, values, 1) ==
        std::vector<float>{1.0F, 1.0F, 1.0F, 1.0F + 2.0F / 128});
}

TEST_CASE("what is no finite number stays none") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{infinity, -infinity, std::nanf(""), 1.0F};
  const std::vector<float> half = there_and_back(Compression::bf16, values, 1);
  CHECK(half[0] == infinity);
  CHECK(half[1] == -infinity);
  CHECK(std::isnan(half[2]));
  CHECK(half[3] == 1.0F);
  for (const float value : there_and_back(Compression::int8, values, 1)) {
    CHECK_FALSE(std::isfinite(value));
  }
}

TEST_CASE(
    "an int8 is off by at most 1/254 of its sample's largest value, about a quarter of the bytes") {
  constexpr std::size_t elements = 500;
  const std::vector<float> values = random_values(20 * elements);
  CHECK(encoded_bytes(Compression::int8, 500) == Bytes{504});
  const std::vector<float> found = there_and_back(Compression::int8, values, 20);
  for (std::size_t s = 0; s < 20; ++s) {
    float largest = 0;
    double worst = 0;
    for (std::size_t i = s * elements; i < (s + 1) * elements; ++i) {
      largest = std::max(largest, std::abs(values[i]));
      worst = std::max(worst, std::abs(static_cast<double>(found[i]) - values[i]));
    }
    CHECK(worst <= largest * (1.0 / 254 + 1e-6));  // and what fp32 rounds
    CHECK(worst > largest / 1000);
  }
}

TEST_CASE("samples of zeros, and the ends of the scale, are exact") {
  const std::vector<float> zeros(8, 0.0F);
  CHECK(there_and_back(Compression::int8, zeros, 2) == zeros);
  const std::vector<float> ends{-127.0F, 127.0F, 3.0F, 0.0F};  // the scale is 1
  CHECK(there_and_back(Compression::int8, ends, 1) == ends);
}

TEST_CASE("bytes and values of unlike sizes are refused") {
  std::vector<float> values(6);
  std::vector<std::byte> bytes(12);
  CHECK_NOTHROW(encode(Compression::bf16, values, 3, bytes));
  CHECK_THROWS_AS(encode(Compression::int8, values, 3, bytes), ContractViolation);
  CHECK_THROWS_AS(decode(Compression::none, bytes, 3, values), ContractViolation);
  CHECK_THROWS_AS(encode(Compression::bf16, values, 4, bytes), ContractViolation);
}
