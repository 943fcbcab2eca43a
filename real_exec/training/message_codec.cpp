// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/message_codec.hpp"

#include "real_exec/recurrent/bf16.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace schedlab {
namespace {

constexpr std::uint32_t sign_bit = 0x8000'0000U;
constexpr std::uint32_t infinite = 0x7F80'0000U;

/// Of bits, which compilers make vector instructions of.
float largest_size(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & ~sign_bit);
  }
  return std::bit_cast<float>(largest);
}

/// The nearest whole number of a value of at most 2^22, as the bits that adding 1.5 x 2^23 leaves.
std::int8_t nearest(float value) {
  constexpr float shift = 12'582'912.0F;
  const auto bits = std::bit_cast<std::int32_t>(value + shift);
  return static_cast<std::int8_t>(bits - std::bit_cast<std::int32_t>(shift));
}

void encode_bf16(std::span<const float> values, std::byte* into) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = detail::to_bf16(values[i]);
    std::memcpy(into + 2 * i, &half, sizeof half);
  }
}

void decode_bf16(const std::byte* from, std::span<float> into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, from + 2 * i, sizeof half);
    into[i] = detail::from_bf16(half);
  }
}

/// One sample: its scale, then its values.
void encode_int8(std::span<const float> values, std::byte* into) {
  const float scale = largest_size(values) / 127.0F;
  std::memcpy(into, &scale, sizeof scale);
  const float per_step = scale > 0 ? 1.0F / scale : 0.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    into[sizeof scale + i] = std::bit_cast<std::byte>(nearest(values[i] * per_step));
  }
}

void decode_int8(const std::byte* from, std::span<float> into) {
  float scale = 0;
  std::memcpy(&scale, from, sizeof scale);
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(from[sizeof scale + i]));
  }
}

/// Values of one sample.
std::size_t expect_sizes(Compression compression,
                         std::size_t values,
                         std::size_t bytes,
                         std::int64_t samples) {
  const auto elements = samples > 0 ? static_cast<std::int64_t>(values) / samples : 0;
  const Bytes expected{samples * encoded_bytes(compression, elements).count()};
  SCHEDLAB_EXPECTS(samples > 0 && static_cast<std::int64_t>(values) == elements * samples &&
                       Bytes{static_cast<std::int64_t>(bytes)} == expected,
                   fmt::format("{} bytes for {} values of {} samples", bytes, values, samples));
  return static_cast<std::size_t>(elements);
}

}  // namespace

Bytes encoded_bytes(Compression compression, std::int64_t elements) {
  switch (compression) {
    case Compression::none:
      return Bytes{4 * elements};
    case Compression::bf16:
      return Bytes{2 * elements};
    case Compression::int8:
      return Bytes{4 + elements};
  }
  return {};
}

void encode(Compression compression,
            std::span<const float> values,
            std::int64_t samples,
            std::span<std::byte> into) {
  const std::size_t elements = expect_sizes(compression, values.size(), into.size(), samples);
  if (compression == Compression::none) {
    std::memcpy(into.data(), values.data(), into.size());
  } else if (compression == Compression::bf16) {
    encode_bf16(values, into.data());
  } else {
    for (std::size_t s = 0; s < static_cast<std::size_t>(samples); ++s) {
      encode_int8(values.subspan(s * elements, elements), into.data() + s * (4 + elements));
    }
  }
}

void decode(Compression compression,
            std::span<const std::byte> bytes,
            std::int64_t samples,
            std::span<float> into) {
  const std::size_t elements = expect_sizes(compression, into.size(), bytes.size(), samples);
  if (compression == Compression::none) {
    std::memcpy(into.data(), bytes.data(), bytes.size());
  } else if (compression == Compression::bf16) {
    decode_bf16(bytes.data(), into);
  } else {
    for (std::size_t s = 0; s < static_cast<std::size_t>(samples); ++s) {
      decode_int8(bytes.data() + s * (4 + elements), into.subspan(s * elements, elements));
    }
  }
}

}  // namespace schedlab
