// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace schedlab::python {

/// The columns of a table by name, in its order: whole numbers as int64 if none is missing, other
/// numbers as float64 with NaN where one is missing, texts and mixtures as objects with None.
[[nodiscard]] pybind11::dict table_columns(const Table& table);

/// A CSV file of this project, read back: the inverse of table_csv() as far as its cells tell.
[[nodiscard]] Table table_of_csv(std::string_view text);

}  // namespace schedlab::python
