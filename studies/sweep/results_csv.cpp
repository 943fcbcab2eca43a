// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/results_csv.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "studies/scenario/result_columns.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t rows_at_once = 4096;

std::size_t axis_count(const ResultsStore& store) {
  const auto& columns = store.columns();
  return static_cast<std::size_t>(
      std::count_if(columns.begin(), columns.end(), [](const ResultsStore::Column& column) {
        return !column.path.empty();
      }));
}

std::size_t column_index(const ResultsStore& store, const std::string& name) {
  const auto& columns = store.columns();
  return static_cast<std::size_t>(
      std::find_if(columns.begin(),
                   columns.end(),
                   [&](const ResultsStore::Column& column) { return column.name == name; }) -
      columns.begin());
}

/// The granularities at which the policies of this sweep were run.
std::vector<Granularity> compared_granularities(const ResultsStore& store) {
  std::vector<Granularity> compared;
  for (const Granularity granularity : all_granularities) {
    if (column_index(store, makespan_column(granularity)) != store.columns().size()) {
      compared.push_back(granularity);
    }
  }
  return compared;
}

/// Turns rows of the store into rows of the table.
class RowShape {
 public:
  RowShape(const ResultsStore& store, const std::optional<Baseline>& baseline)
      : axes_(axis_count(store)),
        granularity_(column_index(store, "task_granularity")),
        baseline_(baseline) {
    if (!baseline) return;
    makespan_ps_ = store.integer_column("makespan_ps", 0);
    for (const Granularity granularity : compared_granularities(store)) {
      makespan_at_ps_[std::string{granularity_name(granularity)}] =
          store.integer_column(makespan_column(granularity), 0);
    }
  }

  [[nodiscard]] std::vector<Cell> row(std::uint64_t scenario,
                                      const std::vector<Cell>& cells) const {
    std::vector<Cell> row{static_cast<std::int64_t>(scenario)};
    row.reserve(cells.size() + 4);
    const auto metrics = cells.begin() + static_cast<std::ptrdiff_t>(axes_);
    row.insert(row.end(), cells.begin(), metrics);
    if (baseline_) append_speed_up(row, scenario, cells);
    row.insert(row.end(), metrics, cells.end());
    return row;
  }

 private:
  static Cell ratio(std::int64_t of, std::int64_t over) {
    if (of <= 0 || over <= 0) return {};
    return static_cast<double>(of) / static_cast<double>(over);
  }

  void append_speed_up(std::vector<Cell>& row,
                       std::uint64_t scenario,
                       const std::vector<Cell>& cells) const {
    const std::int64_t own = makespan_ps_[scenario];
    const std::int64_t reference = baseline_->shortest(makespan_ps_, scenario);
    row.push_back(ratio(reference, own));
    if (makespan_at_ps_.empty()) return;
    const auto* word = std::get_if<std::string>(&cells[granularity_]);
    const auto at = word == nullptr ? makespan_at_ps_.end() : makespan_at_ps_.find(*word);
    // Where the workload leaves no choice, all policies of the case were given the same.
    const bool compared = at != makespan_at_ps_.end() && at->second[scenario] > 0;
    const std::int64_t there = compared ? baseline_->shortest(at->second, scenario) : reference;
    row.push_back(ratio(reference, there));
    row.push_back(ratio(there, own));
  }

  std::size_t axes_;
  std::size_t granularity_;
  const std::optional<Baseline>& baseline_;
  std::vector<std::int64_t> makespan_ps_;
  std::map<std::string, std::vector<std::int64_t>> makespan_at_ps_;  // by granularity
};

/// A file that gets its name when it is complete.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path target)
      : target_(std::move(target)),
        temporary_(target_.string() + ".partial-" + std::to_string(::getpid())),
        stream_(temporary_, std::ios::binary),
        error_(stream_ ? 0 : errno) {}
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    std::error_code ignored;
    if (!published_) std::filesystem::remove(temporary_, ignored);
  }

  void write(std::string_view bytes) {
    stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!stream_ && error_ == 0) error_ = errno;
  }
  void publish() {
    stream_.close();
    if (!stream_ && error_ == 0) error_ = errno;
    std::error_code error(error_, std::generic_category());
    if (!error) std::filesystem::rename(temporary_, target_, error);
    if (error) {
      throw InfeasibleError(target_.string() + ": cannot be written: " + error.message());
    }
    published_ = true;
  }

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  int error_;  // the first one, as errno has it
  bool published_ = false;
};

void count(ResultsDigest& digest,
           std::uint64_t scenario,
           const std::vector<Cell>& cells,
           std::size_t makespan,
           std::size_t findings) {
  ++digest.rows;
  const bool failed = cells[makespan].index() == 0;
  const auto* found = std::get_if<std::int64_t>(&cells[findings]);
  const bool objected = found != nullptr && *found > 0;
  digest.failed += failed ? 1 : 0;
  digest.with_findings += objected ? 1 : 0;
  const auto* note = std::get_if<std::string>(&cells.back());
  if (note == nullptr || !digest.first_note.empty() || !(failed || objected)) return;
  digest.first_note = *note;
  digest.first_note_scenario = scenario;
}

}  // namespace

std::vector<Column> csv_columns(const ResultsStore& store, bool with_speed_up) {
  std::vector<Column> columns{{"scenario", ColumnRole::note}};
  const std::size_t axes = axis_count(store);
  const bool compared = !compared_granularities(store).empty();
  for (std::size_t i = 0; i < store.columns().size(); ++i) {
    const ResultsStore::Column& column = store.columns()[i];
    if (i == axes && with_speed_up) {
      columns.push_back({"speed_up", ColumnRole::metric});
      for (const char* name : {"speed_up_cut", "speed_up_order"}) {
        if (compared) columns.push_back({name, ColumnRole::metric});
      }
    }
    ColumnRole role = i < axes ? ColumnRole::axis : ColumnRole::metric;
    if (column.sql_type == "TEXT") role = ColumnRole::note;
    columns.push_back({column.name, role});
  }
  return columns;
}

void for_each_result(const ResultsStore& store,
                     const std::optional<Baseline>& baseline,
                     const std::function<void(const std::vector<Cell>&)>& visit) {
  const RowShape shape(store, baseline);
  store.for_each([&](std::uint64_t scenario, const std::vector<Cell>& cells) {
    visit(shape.row(scenario, cells));
  });
}

Table results_table(const ResultsStore& store,
                    const std::optional<Baseline>& baseline,
                    std::uint64_t max_rows) {
  Table table;
  table.columns = csv_columns(store, baseline.has_value());
  for_each_result(store, baseline, [&](const std::vector<Cell>& row) {
    if (table.rows.size() < max_rows) table.rows.push_back(row);
  });
  return table;
}

ResultsDigest write_results_csv(const ResultsStore& store,
                                const std::optional<Baseline>& baseline,
                                const std::filesystem::path& path) {
  ResultsDigest digest;
  std::size_t makespan = 0;
  std::size_t findings = 0;
  for (std::size_t i = 0; i < store.columns().size(); ++i) {
    if (store.columns()[i].name == "makespan_ps") makespan = i;
    if (store.columns()[i].name == "findings") findings = i;
  }
  PartialFile file(path);
  Table part;
  part.columns = csv_columns(store, baseline.has_value());
  file.write(table_csv(part));  // the header line alone
  const auto flush = [&] {
    if (part.rows.empty()) return;
    const std::string text = table_csv(part);
    file.write(std::string_view{text}.substr(text.find('\n') + 1));
    part.rows.clear();
  };
  const RowShape shape(store, baseline);
  store.for_each([&](std::uint64_t scenario, const std::vector<Cell>& cells) {
    count(digest, scenario, cells, makespan, findings);
    part.rows.push_back(shape.row(scenario, cells));
    if (part.rows.size() == rows_at_once) flush();
  });
  flush();
  file.publish();
  return digest;
}

}  // namespace schedlab
