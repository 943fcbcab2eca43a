// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_rows.hpp"

#include "sim/base/error.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/sweep/like_for_like.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace schedlab {
namespace {

/// Appends values one after another.
class RowWriter {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    bytes_.append(bytes.data(), bytes.size());
  }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void cells(const std::vector<Cell>& cells) {
    number(std::uint64_t{cells.size()});
    for (const Cell& cell : cells) {
      number(static_cast<std::uint8_t>(cell.index()));
      if (const auto* integer = std::get_if<std::int64_t>(&cell)) number(*integer);
      if (const auto* real = std::get_if<double>(&cell)) number(*real);
      if (const auto* word = std::get_if<std::string>(&cell)) text(*word);
    }
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes them off again.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  Number number() {
    SCHEDLAB_EXPECTS(bytes_.size() >= sizeof(Number), "rows that were cut off");
    Number value{};
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<std::uint64_t>();
    SCHEDLAB_EXPECTS(bytes_.size() >= size, "rows that were cut off");
    std::string value{bytes_.substr(0, size)};
    bytes_.remove_prefix(size);
    return value;
  }
  std::vector<Cell> cells() {
    std::vector<Cell> cells(number<std::uint64_t>());
    for (Cell& cell : cells) {
      switch (number<std::uint8_t>()) {
        case 1:
          cell = number<std::int64_t>();
          break;
        case 2:
          cell = number<double>();
          break;
        case 3:
          cell = text();
          break;
        default:
          break;
      }
    }
    return cells;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string rows_to_bytes(const std::vector<FinishedRow>& rows) {
  RowWriter out;
  out.number(std::uint64_t{rows.size()});
  for (const FinishedRow& row : rows) {
    out.number(row.scenario);
    out.cells(row.axes);
    out.cells(row.results);
    out.number(std::uint64_t{row.makespans.size()});
    for (const Duration makespan : row.makespans) out.number(std::int64_t{makespan.count()});
  }
  return out.take();
}

std::vector<FinishedRow> rows_from_bytes(std::string_view bytes) {
  RowReader in(bytes);
  std::vector<FinishedRow> rows(in.number<std::uint64_t>());
  for (FinishedRow& row : rows) {
    row.scenario = in.number<std::uint64_t>();
    row.axes = in.cells();
    row.results = in.cells();
    row.makespans.resize(in.number<std::uint64_t>());
    for (Duration& makespan : row.makespans) makespan = Duration{in.number<std::int64_t>()};
  }
  return rows;
}

struct RowMaker::Worker {
  Worker(ScenarioSpace& space, const ResultLayout& layout, const StopFlag* stop)
      : runner(space, stop), like_for_like(space, layout) {}

  ScenarioRunner runner;
  LikeForLikeRuns like_for_like;
};

RowMaker::RowMaker(ScenarioSpace& space,
                   const std::vector<bool>& done,
                   bool check,
                   const StopFlag* stop,
                   unsigned workers)
    : space_(space),
      done_(done),
      check_(check),
      layout_(result_layout(space.components(), space.grid())),
      stop_(stop),
      workers_(workers) {}

RowMaker::~RowMaker() = default;

std::vector<FinishedRow> RowMaker::make(RowRange range, unsigned worker) {
  std::vector<std::uint64_t> scenarios;
  for (std::uint64_t at = range.first; at < range.last; ++at) {
    scenarios.push_back(space_.grid().scenario_at(at));
  }
  return make(scenarios, worker);
}

std::vector<FinishedRow> RowMaker::make(std::span<const std::uint64_t> scenarios, unsigned worker) {
  auto& own = workers_[worker];
  if (own == nullptr) own = std::make_unique<Worker>(space_, layout_, stop_);
  const Grid& grid = space_.grid();
  std::vector<FinishedRow> rows;
  try {
    for (const std::uint64_t scenario : scenarios) {
      if (stop_requested(stop_)) break;
      if (done_[scenario]) continue;
      ScenarioResult result = own->runner.run(scenario, check_);
      own->like_for_like.add_to(result, own->runner, scenario, check_);
      rows.push_back({scenario,
                      grid.axis_values(scenario),
                      result_cells(result, layout_),
                      result.samples.makespans()});
    }
  } catch (const Interrupted&) {
    // The scenario in flight is abandoned; those before it count.
  }
  return rows;
}

}  // namespace schedlab
