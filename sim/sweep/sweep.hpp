// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace schedlab {

/// One result of a scenario with its column name ("makespan_us").
struct NamedCell {
  std::string name;
  Cell value;
};
using Row = std::vector<NamedCell>;

/// One axis of a sweep: a name and the values it takes.
template <class T>
struct Axis {
  Axis(std::string axis_name, std::initializer_list<T> axis_values)
      : name(std::move(axis_name)), values(axis_values) {}
  Axis(std::string axis_name, std::vector<T> axis_values)
      : name(std::move(axis_name)), values(std::move(axis_values)) {}

  std::string name;
  std::vector<T> values;
};

namespace detail {

/// What an axis value looks like in a table.
template <class T>
Cell to_cell(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::string{value ? "true" : "false"};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else {
    return std::string{std::string_view{value}};
  }
}

[[nodiscard]] Table run_rows(std::vector<std::string> axis_names,
                             std::uint64_t count,
                             unsigned jobs,
                             const StopFlag* stop,
                             const std::function<std::vector<Cell>(std::uint64_t)>& axis_cells,
                             const std::function<Row(std::uint64_t)>& run_one);

}  // namespace detail

/// A grid of scenarios as a typed loop: the function gets one value per axis, the last axis varies
/// fastest, and the rows of the table keep that order on any number of threads.
///
///   Sweep{Axis{"layers", {2, 4}}, Axis{"policy", {"heft", "peft"}}}
///       .run([](int layers, std::string_view policy) { return Row{{"makespan_us", ...}}; });
template <class... T>
class Sweep {
 public:
  explicit Sweep(Axis<T>... axes) : axes_(std::move(axes)...) {}

  [[nodiscard]] std::uint64_t size() const {
    return std::apply(
        [](const auto&... axis) { return (std::uint64_t{1} * ... * axis.values.size()); }, axes_);
  }

  /// `function(values...) -> Row`, called from worker_count(jobs) threads at once.
  /// Errors  What the function throws; ContractViolation if rows name different columns;
  ///         InfeasibleError when stopped.
  template <class Function>
  [[nodiscard]] Table run(const Function& function,
                          unsigned jobs = 0,
                          const StopFlag* stop = nullptr) const {
    std::vector<std::string> names;
    std::apply([&](const auto&... axis) { (names.push_back(axis.name), ...); }, axes_);
    return detail::run_rows(
        std::move(names),
        size(),
        jobs,
        stop,
        [&](std::uint64_t index) {
          return call(index, [](const auto&... value) {
            return std::vector<Cell>{detail::to_cell(value)...};
          });
        },
        [&](std::uint64_t index) { return call(index, function); });
  }

 private:
  template <class Function>
  auto call(std::uint64_t index, const Function& function) const {
    return call_with(index, function, std::index_sequence_for<T...>{});
  }
  template <class Function, std::size_t... I>
  auto call_with(std::uint64_t index, const Function& function, std::index_sequence<I...>) const {
    const std::vector<std::uint64_t> digits = split(index);
    return function(std::get<I>(axes_).values[digits[I]]...);
  }
  [[nodiscard]] std::vector<std::uint64_t> split(std::uint64_t index) const {
    std::vector<std::uint64_t> sizes;
    std::apply([&](const auto&... axis) { (sizes.push_back(axis.values.size()), ...); }, axes_);
    std::vector<std::uint64_t> digits(sizes.size());
    for (std::size_t i = sizes.size(); i-- > 0;) {
      digits[i] = index % sizes[i];
      index /= sizes[i];
    }
    return digits;
  }

  std::tuple<Axis<T>...> axes_;
};

template <class... T>
Sweep(Axis<T>...) -> Sweep<T...>;

}  // namespace schedlab
