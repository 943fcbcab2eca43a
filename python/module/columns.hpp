// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::python {

/// Makes an array read-only.
inline pybind11::array frozen(pybind11::array array) {
  pybind11::detail::array_proxy(array.ptr())->flags &=
      ~pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

/// Items of C++ as a read-only array of their own memory, which `owner` keeps alive.
template <class Item, class Number = std::uint32_t>
pybind11::array view_of(std::span<const Item> items, const pybind11::object& owner) {
  static_assert(sizeof(Item) == sizeof(Number));
  return frozen(pybind11::array(pybind11::dtype::of<Number>(),
                                {static_cast<pybind11::ssize_t>(items.size())},
                                {static_cast<pybind11::ssize_t>(sizeof(Item))},
                                items.data(),
                                owner));
}

/// The same of structs: `fields` says where which numbers are.
struct StructField {
  const char* name;
  const char* format;  ///< as NumPy has it: "u4", "i8"
  std::size_t offset;
};
template <class Item>
pybind11::array view_of_structs(const std::vector<Item>& items,
                                const std::vector<StructField>& fields,
                                const pybind11::object& owner) {
  pybind11::list names;
  pybind11::list formats;
  pybind11::list offsets;
  for (const StructField& field : fields) {
    names.append(field.name);
    formats.append(field.format);
    offsets.append(field.offset);
  }
  const auto size = static_cast<pybind11::ssize_t>(sizeof(Item));
  const pybind11::dtype type(names, formats, offsets, size);
  return frozen(pybind11::array(
      type, {static_cast<pybind11::ssize_t>(items.size())}, {size}, items.data(), owner));
}

/// A new array of what `value` gives for each of `count` positions.
template <class Number, class Value>
pybind11::array_t<Number> array_of(std::size_t count, const Value& value) {
  pybind11::array_t<Number> made(static_cast<pybind11::ssize_t>(count));
  auto* const data = made.mutable_data();
  for (std::size_t i = 0; i < count; ++i) data[i] = value(i);
  return made;
}

/// Durations in microseconds, one per task.
inline pybind11::array_t<double> in_microseconds(const IdVector<TaskId, Duration>& durations) {
  return array_of<double>(durations.size(),
                          [&](std::size_t i) { return to_us(durations.raw()[i]); });
}

}  // namespace schedlab::python
