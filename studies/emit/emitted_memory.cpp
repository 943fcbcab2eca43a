// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/emitted_memory.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

void* EmittedMemory::add(std::size_t bytes) {
  const std::uintptr_t at = next_;
  arrays_[at] = {.number = arrays_.size(), .bytes = bytes};
  constexpr std::uintptr_t apart = 4096;
  next_ += (bytes / apart + 2) * apart;
  // An address of the emitted program's device, not read here.
  return reinterpret_cast<void*>(at);  // NOLINT(*-reinterpret-cast,performance-no-int-to-ptr)
}

std::shared_ptr<void> EmittedMemory::add_host(std::size_t bytes) {
  auto held = std::make_shared<std::vector<std::byte>>(bytes);
  void* const data = held->data();
  arrays_[address(data)] = {.number = arrays_.size(), .bytes = bytes, .host = held};
  return {std::move(held), data};
}

void EmittedMemory::add_pageable(const void* data, std::size_t bytes) {
  auto after = arrays_.upper_bound(address(data));
  if (after != arrays_.begin()) {
    --after;
    if (address(data) < after->first + after->second.bytes) return;
  }
  arrays_[address(data)] = {.number = arrays_.size(), .bytes = bytes, .name = "x_pageable"};
}

void EmittedMemory::name(const void* data, std::string_view type, std::string name) {
  if (data == nullptr) return;
  EmittedArray& array = find(data).second;
  array.type = type;
  array.name = std::move(name);
}

void EmittedMemory::name_the_rest() {
  for (auto& [at, array] : arrays_) {
    if (array.name.empty()) array.name = fmt::format("buffer_{}", array.number);
  }
}

std::vector<const EmittedArray*> EmittedMemory::arrays() const {
  std::vector<const EmittedArray*> all;
  all.reserve(arrays_.size());
  for (const auto& [at, array] : arrays_) all.push_back(&array);
  std::sort(all.begin(), all.end(), [](const EmittedArray* a, const EmittedArray* b) {
    return a->number < b->number;
  });
  return all;
}

std::string EmittedMemory::text(const void* data, std::string_view type) {
  if (data == nullptr) return "nullptr";
  const auto [at, array] = find(data);
  const bool low = type.ends_with("Bf16");
  const std::size_t size = type == "double" ? sizeof(double) : low ? 2 : sizeof(float);
  const std::size_t off = (address(data) - at) / size;
  const std::string base =
      type == array.type ? array.name : fmt::format("reinterpret_cast<{}*>({})", type, array.name);
  return off == 0 ? base : fmt::format("{} + {}", base, off);
}

std::uintptr_t EmittedMemory::address(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);  // NOLINT(*-reinterpret-cast): a key
}

std::pair<std::uintptr_t, EmittedArray&> EmittedMemory::find(const void* data) {
  auto found = arrays_.upper_bound(address(data));
  SCHEDLAB_EXPECTS(found != arrays_.begin(), "an address outside of all arrays");
  --found;
  SCHEDLAB_EXPECTS(address(data) <= found->first + found->second.bytes,
                   "an address outside of all arrays");
  return {found->first, found->second};
}

}  // namespace schedlab
