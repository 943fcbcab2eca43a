// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace schedlab {

/// Asks the system to keep this memory, as far as it has not been written to yet, in huge pages:
/// who goes through a large table from end to end otherwise waits for a new page every few dozen
/// entries. Changes nothing but speed; a few megabytes, and systems that do not know or allow it,
/// are left as they are.
///
/// The first touch can take several times as long where memory is in pieces and the system must
/// free memory first: not for what is written once, at a stroke.
void ask_for_huge_pages(void* data, std::size_t bytes) noexcept;

/// As `table.reserve(count)`, in huge pages where that is worth while.
template <class T>
void reserve_large(std::vector<T>& table, std::size_t count) {
  if (count <= table.capacity()) return;
  table.reserve(count);
  ask_for_huge_pages(table.data(), table.capacity() * sizeof(T));
}

}  // namespace schedlab
