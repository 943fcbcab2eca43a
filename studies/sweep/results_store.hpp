// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/sweep/table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// What a results file is about; a run can be resumed only if all of it is the same.
struct ResultsHeader {
  std::string spec;                    ///< text of the spec file
  std::string inputs;                  ///< digest of the files the spec refers to
  std::string version;                 ///< of the program
  std::string name;                    ///< of the spec
  std::uint64_t scenarios = 0;         ///< of the whole sweep
  std::string shard{};                 ///< which part of it, as "3/64"; empty: all
  std::vector<std::string> columns{};  ///< their names, without the scenario number
};

/// results.sqlite: every scenario of a sweep that is done, in one table `results` with a column per
/// axis and per number, plus `meta` (key, value) and `axes` (name, path, number of values), and of
/// machines that scatter `samples` (scenario, sample, makespan_ps).
///
/// Rows are committed every 1000 rows or 100 ms, whichever comes first, so a killed process loses
/// at most what it finished in its last tenth of a second. Used by one thread at a time.
class ResultsStore {
 public:
  struct Column {
    std::string name;
    std::string sql_type;  ///< "INTEGER", "REAL", "TEXT"; "" for axes, which hold any
    std::string path;      ///< of an axis: its path in the spec; else empty
    std::uint64_t values = 0;
  };

  /// A new file. `columns`: without the scenario number; `sampled`: with a table for samples.
  /// Throws InfeasibleError if it cannot be written.
  [[nodiscard]] static ResultsStore create(const std::filesystem::path& path,
                                           const ResultsHeader& header,
                                           const std::vector<Column>& columns,
                                           bool sampled = false);
  /// An unfinished or finished file, to add to. Throws InputError if it belongs to another spec,
  /// version or input, or is no results file.
  [[nodiscard]] static ResultsStore resume(const std::filesystem::path& path,
                                           const ResultsHeader& header);
  /// Any results file, to read. Throws InputError if it is none.
  [[nodiscard]] static ResultsStore open(const std::filesystem::path& path);

  ResultsStore(ResultsStore&&) noexcept;
  ResultsStore& operator=(ResultsStore&&) noexcept;
  ResultsStore(const ResultsStore&) = delete;
  ResultsStore& operator=(const ResultsStore&) = delete;
  ~ResultsStore();  // commits nothing: call flush()

  [[nodiscard]] const std::vector<Column>& columns() const;
  [[nodiscard]] ResultsHeader header() const;
  /// Throws InputError if the rows are of another spec, version or input, or have other columns.
  void expect_same(const ResultsHeader& header, const std::string& hint) const;
  /// Which scenarios are there; one entry per scenario of the grid.
  [[nodiscard]] std::vector<bool> done() const;
  [[nodiscard]] std::uint64_t row_count() const;

  /// One row; a scenario that is there already is replaced. `makespans`: of its samples, if any;
  /// the file must have a table for them.
  void add(std::uint64_t scenario,
           const std::vector<Cell>& axes,
           const std::vector<Cell>& results,
           const std::vector<Duration>& makespans = {});
  /// Commits if the batch is full or old enough.
  void commit_if_due();
  void flush();
  /// flush() after something has failed: a second failure must not hide the first.
  void save_what_is_there() noexcept;
  /// Ends writing: one file that can be read where nothing can be written. What stays in the
  /// write-ahead log because another program reads the file just now is read from there.
  void seal();

  /// All rows by rising scenario number; the cells are those of columns().
  void for_each(const std::function<void(std::uint64_t, const std::vector<Cell>&)>& visit) const;
  /// The cells of one scenario; empty: it is not there.
  [[nodiscard]] std::vector<Cell> row(std::uint64_t scenario) const;
  /// The makespans of the samples of a scenario, in their order; empty: there are none.
  [[nodiscard]] std::vector<Duration> samples(std::uint64_t scenario) const;
  /// One integer column by scenario; `missing` where there is none.
  [[nodiscard]] std::vector<std::int64_t> integer_column(const std::string& name,
                                                         std::int64_t missing) const;

 private:
  struct Database;
  explicit ResultsStore(std::unique_ptr<Database> database);

  std::unique_ptr<Database> database_;
};

}  // namespace schedlab
