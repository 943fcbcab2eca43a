// SPDX-License-Identifier: Apache-2.0
#include "sim/base/huge_pages.hpp"

#include <bit>
#include <cstdint>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace schedlab {
namespace {

/// Of x86-64, and of ARM with pages of 4 KiB. Where they are larger, less is asked for than could
/// be.
constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20U;
/// Below it a table is in cache, or soon read again. Assumed.
constexpr std::size_t min_bytes = std::size_t{4} << 20U;

}  // namespace

void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes < min_bytes) return;
  // Whole huge pages only: what lies before and behind belongs to others.
  const auto begin = std::bit_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t last = (begin + bytes) / huge_page * huge_page;
  auto* const aligned = static_cast<char*>(data) + (first - begin);
  (void)madvise(aligned, last - first, MADV_HUGEPAGE);  // advice: a refusal is no error
#endif
}

}  // namespace schedlab
