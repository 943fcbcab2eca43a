// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// How values travel between stages.
enum class Compression : std::uint8_t {
  none,  ///< as they are
  bf16,  ///< upper half of a float, rounded to nearest, ties to even: each value is off by at
         ///< most 1/256 of its size; values too large for it become infinite
  int8,  ///< per sample a scale s = largest |value| / 127, and each value as a whole number of
         ///< s: off by at most s / 2. A sample with a value that is not finite decodes to none
};
template <>
struct EnumNames<Compression> {
  static constexpr auto names = name_list("none", "bf16", "int8");
};

/// Bytes of one sample of so many values as they travel: 4, 2, or 1 each and 4 for the scale.
[[nodiscard]] Bytes encoded_bytes(Compression compression, std::int64_t elements);

/// values[samples, elements] into bytes, encoded_bytes() for each sample. The sizes must agree
/// (ContractViolation).
void encode(Compression compression,
            std::span<const float> values,
            std::int64_t samples,
            std::span<std::byte> into);
/// And back.
void decode(Compression compression,
            std::span<const std::byte> bytes,
            std::int64_t samples,
            std::span<float> into);

}  // namespace schedlab
