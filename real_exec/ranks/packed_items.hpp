// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// \file
/// Lists of plain values in the texts that ranks send each other; all ranks run one program.
namespace schedlab::detail {

template <class Item>
void append_items(std::string& text, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  const std::uint64_t count = items.size();
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): any object may be read as bytes
  text.append(reinterpret_cast<const char*>(&count), sizeof count);
  text.append(reinterpret_cast<const char*>(items.data()), count * sizeof(Item));
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
}

/// The next list, which is taken off the text.
template <class Item>
std::vector<Item> take_items(std::string_view& text) {
  std::uint64_t count = 0;
  std::memcpy(&count, text.data(), sizeof count);
  text.remove_prefix(sizeof count);
  std::vector<Item> items(count);
  if (count > 0) std::memcpy(items.data(), text.data(), count * sizeof(Item));
  text.remove_prefix(count * sizeof(Item));
  return items;
}

}  // namespace schedlab::detail
