// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace schedlab {

/// What a row of published measurements is used for: half of the shapes fit parameters, a quarter
/// chooses between forms of a model, a quarter is predicted and only reported.
enum class RowUse { fit, choose, report };

/// By a hash of the shape and nothing else (FNV-1a, 64 bits, of which bits 32 and 33 count), so
/// that the rule cannot follow a measurement and one shape on all devices, in all layouts and
/// sequence lengths falls on the same side. Products are "MxNxK", recurrent layers
/// "cell/hidden/batch".
constexpr RowUse row_use(std::string_view shape) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : shape) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  constexpr RowUse uses[] = {RowUse::fit, RowUse::fit, RowUse::choose, RowUse::report};
  return uses[(hash >> 32) % 4];
}

static_assert(row_use("1760x16x1760") == RowUse::fit);
static_assert(row_use("gru/2816/32") == RowUse::choose);
static_assert(row_use("1760x32x1760") == RowUse::report);

}  // namespace schedlab
