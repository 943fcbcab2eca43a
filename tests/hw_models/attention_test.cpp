// SPDX-License-Identifier: Apache-2.0
#include "hw_models/attention.hpp"

#include "hw_models/tiled_gemm.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <memory>

using namespace schedlab;

namespace {

FittedParameters fitted(std::initializer_list<double> values) {
  FittedParameters made;
  for (const double value : values) made.values.push_back({value, value, value});
  return made;
}

// 10 units of 1 MFLOP/us, memory of 1000 bytes/us.
constexpr AttentionDevice ten_units{.units = 10, .flop = 10e6, .byte = 1000};
constexpr double two_bytes = 2;

/// Tiles of 128 x 128, floor 5 us, 1 us a block, half of the peak, half of the bandwidth.
FittedParameters context(double packed, double chain) {
  return fitted({128, 128, packed, 5, 1, 0.5, 0.5, chain, 0, 1, 1, 1, 1});
}

/// Floor 5 us, 1 us a block, 2 us a key tile, all of the bandwidth, parts of 1 tile and more that
/// take 3 us and 0.5 by doubling; whole waves, everything else off. Nothing of the blocks' time is
/// hidden.
FittedParameters generation(double splits_ungrouped = 1) {
  return fitted({64, 128, splits_ungrouped, 5, 1, 2, 1, 1, 3, 0.5, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1});
}

Device calibrated_device() {
  Device device;
  device.rates.matrix[static_cast<std::size_t>(DataType::bf16)] = FlopRate{10e12};
  device.rates.matrix_units = 10;
  device.rates.memory = Bandwidth{1e9};
  auto profile = std::make_shared<KernelProfile>();
  profile->context = context(0, 0);
  profile->generation = generation();
  device.profile = profile;
  return device;
}

Operation attention_of(const AttentionShape& shape) {
  Kernel kernel{.kind = TaskKind::gemm, .type = DataType::bf16, .m = 1, .n = 1, .k = 1};
  kernel.flops = Flops{2};
  kernel.attention = shape;
  return {.name = "attention", .kind = TaskKind::gemm, .kernels = {kernel}};
}

}  // namespace

TEST_CASE("attention of a prompt: blocks, visible key tiles and all tensors once") {
  // 256 tokens are two tiles of queries; the first sees one key tile, the second two. Twenty heads
  // are 40 blocks and 60 pairs, on ten units 4 us and 6 pairs of 4 * 128 * 128 * 128 FLOP at half
  // of 1 MFLOP/us. Queries, keys, values and result: 4 * 256 * 20 * 128 * 2 bytes at 500 bytes/us.
  const AttentionShape shape{
      .sequences = 1, .queries = 256, .keys = 256, .heads = 20, .kv_heads = 20, .head = 128};
  const AttentionTime time = context_time(context(0, 0), shape, two_bytes, ten_units);
  const double pair = 4.0 * 128 * 128 * 128 / 0.5e6;
  CHECK(time.blocks == 40);
  CHECK(time.compute_us == doctest::Approx(4 + 6 * pair));
  CHECK(time.memory_us == doctest::Approx(4.0 * 256 * 20 * 128 * 2 / 500));
  CHECK(time.us == doctest::Approx(5 + time.compute_us + time.memory_us));
  // One head alone: the second tile's two pairs follow each other whatever else is free.
  AttentionShape one = shape;
  one.heads = one.kv_heads = 1;
  CHECK(context_time(context(0, 1), one, two_bytes, ten_units).compute_us ==
        doctest::Approx(1 + 2 * pair));
}

TEST_CASE("packed heads of a group share tiles, so that short prompts need fewer blocks") {
  const AttentionShape shape{
      .sequences = 10, .queries = 16, .keys = 16, .heads = 8, .kv_heads = 1, .head = 128};
  CHECK(context_time(context(0, 0), shape, two_bytes, ten_units).blocks == 80);
  CHECK(context_time(context(1, 0), shape, two_bytes, ten_units).blocks == 10);
}

TEST_CASE("decoding splits keys over idle units and adds the parts up") {
  // 1024 keys are eight key tiles of 2 us. One sequence, two heads on one of keys and values: one
  // tile, split in eight parts of one key tile each: 1 + 2 us, 3 + 0.5 log2(8) for the sum.
  const AttentionShape shape{
      .sequences = 1, .queries = 1, .keys = 1024, .heads = 2, .kv_heads = 1, .head = 128};
  const double memory = 2.0 * 128 * 2 * (2 + 1024) / 1000;
  const AttentionTime split = generation_time(generation(), shape, two_bytes, ten_units);
  CHECK(split.blocks == 8);
  CHECK(split.us == doctest::Approx(5 + 3 + memory + 3 + 1.5));
  // A library that splits no ungrouped heads walks through all eight.
  AttentionShape ungrouped = shape;
  ungrouped.heads = 1;
  const AttentionTime whole = generation_time(generation(0), ungrouped, two_bytes, ten_units);
  CHECK(whole.blocks == 1);
  CHECK(whole.compute_us == doctest::Approx(1 + 8 * 2));
  // Forty tiles on ten units are four waves, and nothing is split.
  AttentionShape many = shape;
  many.sequences = 40;
  CHECK(generation_time(generation(), many, two_bytes, ten_units).compute_us ==
        doctest::Approx(4 * (1 + 8 * 2)));
}

TEST_CASE("more tokens, heads or sequences never make attention faster") {
  double last = 0;
  for (const std::int64_t tokens : {2, 16, 100, 128, 129, 1000, 5000, 1'000'000}) {
    const AttentionShape shape{
        .sequences = 3, .queries = tokens, .keys = tokens, .heads = 8, .kv_heads = 2, .head = 96};
    const double us = context_time(context(1, 0.5), shape, two_bytes, ten_units).us;
    CAPTURE(tokens);
    CHECK(us > last);
    last = us;
  }
}

TEST_CASE("tiled_gemm takes attention from the machine where it has it, and only there") {
  const Device device = calibrated_device();
  const AttentionShape shape{
      .sequences = 4, .queries = 1, .keys = 512, .heads = 8, .kv_heads = 8, .head = 128};
  const Estimate estimate = TiledGemm{}.estimate(attention_of(shape), device);
  const double us = generation_time(generation(), shape, two_bytes, ten_units).us;
  CHECK(to_us(estimate.duration) == doctest::Approx(us));
  CHECK(estimate.share == 1.0);  // 32 tiles on 10 units
  Device plain = device;
  plain.profile = nullptr;
  CHECK(TiledGemm{}.estimate(attention_of(shape), plain).duration < estimate.duration);
  const TiledGemm without{GemmOptions{.library = LibraryUse::none}};
  CHECK(without.estimate(attention_of(shape), device) ==
        TiledGemm{}.estimate(attention_of(shape), plain));
}
