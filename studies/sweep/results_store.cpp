// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/results_store.hpp"

#include "sim/base/error.hpp"
#include "studies/sweep/sqlite_handle.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int schema_version = 1;
constexpr std::uint64_t rows_per_commit = 1000;
constexpr auto time_per_commit = std::chrono::milliseconds{100};

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    text += c;
    if (c == '"') text += c;
  }
  return text + "\"";
}

std::string table_sql(const std::vector<ResultsStore::Column>& columns) {
  std::string sql = "CREATE TABLE results(scenario INTEGER PRIMARY KEY";
  for (const auto& column : columns) {
    sql += ", " + quoted(column.name) + (column.sql_type.empty() ? "" : " " + column.sql_type);
  }
  return sql + ")";
}

std::string insert_sql(std::size_t columns) {
  std::string sql = "INSERT OR REPLACE INTO results VALUES(?";
  for (std::size_t i = 0; i < columns; ++i) sql += ",?";
  return sql + ")";
}

}  // namespace

struct ResultsStore::Database {
  Database(const std::filesystem::path& path, SqliteDatabase::Mode mode) : sqlite(path, mode) {}

  void write_layout(const ResultsHeader& header, bool sampled) {
    sqlite.execute("PRAGMA journal_mode=MEMORY; BEGIN");  // it is not read under this name
    sqlite.execute(fmt::format("PRAGMA user_version={}", schema_version));
    sqlite.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)");
    sqlite.execute("CREATE TABLE axes(name TEXT, path TEXT, number_of_values INTEGER)");
    sqlite.execute(table_sql(columns));
    if (sampled) {
      sqlite.execute(
          "CREATE TABLE samples(scenario INTEGER, sample INTEGER, makespan_ps INTEGER, "
          "PRIMARY KEY(scenario, sample)) WITHOUT ROWID");
    }
    put_meta("spec", header.spec);
    put_meta("inputs", header.inputs);
    put_meta("version", header.version);
    put_meta("name", header.name);
    put_meta("scenarios", std::to_string(header.scenarios));
    if (!header.shard.empty()) put_meta("shard", header.shard);
    SqliteStatement axis(sqlite, "INSERT INTO axes VALUES(?,?,?)");
    for (const Column& column : columns) {
      if (column.path.empty()) continue;
      axis.bind(1, std::string_view{column.name});
      axis.bind(2, std::string_view{column.path});
      axis.bind(3, static_cast<std::int64_t>(column.values));
      axis.step();
      axis.reset();
    }
    sqlite.execute("COMMIT");
  }

  void read_layout() {
    SqliteStatement version(sqlite, "PRAGMA user_version");
    if (!version.step() || version.integer(0) != schema_version) {
      throw InputError({.file = sqlite.path(),
                        .pointer = {},
                        .found = fmt::format("a results file of layout {}", version.integer(0)),
                        .expected = fmt::format("layout {}", schema_version),
                        .hint = "it was written by another version of schedlab"});
    }
    SqliteStatement info(sqlite, "SELECT name, type FROM pragma_table_info('results')");
    while (info.step()) {
      if (info.text(0) != "scenario") {
        columns.push_back(
            {.name = info.text(0), .sql_type = info.text(1), .path = {}, .values = 0});
      }
    }
    SqliteStatement axes(sqlite, "SELECT name, path, number_of_values FROM axes");
    while (axes.step()) {
      for (Column& column : columns) {
        if (column.name != axes.text(0)) continue;
        column.path = axes.text(1);
        column.values = static_cast<std::uint64_t>(axes.integer(2));
      }
    }
  }

  void prepare_insert() {
    // WAL: a commit appends; NORMAL: it survives the process, and the file survives a power
    // failure.
    sqlite.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    insert = std::make_unique<SqliteStatement>(sqlite, insert_sql(columns.size()));
    if (has_samples()) {
      insert_sample =
          std::make_unique<SqliteStatement>(sqlite, "INSERT OR REPLACE INTO samples VALUES(?,?,?)");
    }
  }

  [[nodiscard]] bool has_samples() const {
    return SqliteStatement(sqlite, "SELECT 1 FROM sqlite_master WHERE name='samples'").step();
  }

  [[nodiscard]] std::string meta(std::string_view key) const {
    SqliteStatement get(sqlite, "SELECT value FROM meta WHERE key=?");
    get.bind(1, key);
    return get.step() ? get.text(0) : std::string{};
  }

  void put_meta(std::string_view key, std::string_view value) const {
    SqliteStatement put(sqlite, "INSERT OR REPLACE INTO meta VALUES(?,?)");
    put.bind(1, key);
    put.bind(2, value);
    put.step();
  }

  SqliteDatabase sqlite;  // first, so that it outlives the statements
  std::vector<Column> columns;
  std::unique_ptr<SqliteStatement> insert;
  std::unique_ptr<SqliteStatement> insert_sample;  // nullptr: no table for them
  std::uint64_t pending = 0;
  Clock::time_point last_commit = Clock::now();
};

ResultsStore::ResultsStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
ResultsStore::ResultsStore(ResultsStore&&) noexcept = default;
ResultsStore& ResultsStore::operator=(ResultsStore&&) noexcept = default;
ResultsStore::~ResultsStore() = default;

ResultsStore ResultsStore::create(const std::filesystem::path& path,
                                  const ResultsHeader& header,
                                  const std::vector<Column>& columns,
                                  bool sampled) {
  // The file gets its name when its layout is complete: a run killed before that leaves nothing
  // that looks like results.
  const std::filesystem::path partial = path.string() + ".partial";
  // A log of an older file would be taken for that of the new one.
  for (const std::filesystem::path& file : {path, partial}) {
    for (const char* end : {"", "-journal", "-wal", "-shm"}) {
      std::error_code ignored;
      std::filesystem::remove(file.string() + end, ignored);
    }
  }
  {
    Database database(partial, SqliteDatabase::Mode::create);
    database.columns = columns;
    database.write_layout(header, sampled);
  }
  std::filesystem::rename(partial, path);
  auto database = std::make_unique<Database>(path, SqliteDatabase::Mode::read_write);
  database->columns = columns;
  return ResultsStore(std::move(database));
}

ResultsStore ResultsStore::open(const std::filesystem::path& path) {
  auto database = std::make_unique<Database>(path, SqliteDatabase::Mode::read_only);
  database->read_layout();
  return ResultsStore(std::move(database));
}

ResultsStore ResultsStore::resume(const std::filesystem::path& path, const ResultsHeader& header) {
  auto database = std::make_unique<Database>(path, SqliteDatabase::Mode::read_write);
  database->read_layout();
  ResultsStore store(std::move(database));
  store.expect_same(header, "use another --out, or --overwrite to start again");
  if (store.header().shard != header.shard) {
    throw InputError({.file = path.string(),
                      .pointer = {},
                      .found = "results of another shard",
                      .expected = "those of this one",
                      .hint = "give each shard a folder of its own"});
  }
  return store;
}

void ResultsStore::expect_same(const ResultsHeader& header, const std::string& hint) const {
  const auto expect = [&](const char* key, const std::string& now, const char* what) {
    if (database_->meta(key) == now) return;
    throw InputError({.file = database_->sqlite.path(),
                      .pointer = {},
                      .found = fmt::format("results of another {}", what),
                      .expected = fmt::format("the {} of this run", what),
                      .hint = hint});
  };
  expect("spec", header.spec, "spec");
  expect("inputs", header.inputs, "content of the files that the spec names");
  expect("version", header.version, "version of schedlab");
  if (this->header().columns == header.columns) return;
  throw InputError({.file = database_->sqlite.path(),
                    .pointer = {},
                    .found = "other columns",
                    .expected = "those of this program",
                    .hint = "it was built from other sources; " + hint});
}

const std::vector<ResultsStore::Column>& ResultsStore::columns() const {
  return database_->columns;
}

ResultsHeader ResultsStore::header() const {
  std::vector<std::string> names;
  for (const Column& column : database_->columns) names.push_back(column.name);
  return {.spec = database_->meta("spec"),
          .inputs = database_->meta("inputs"),
          .version = database_->meta("version"),
          .name = database_->meta("name"),
          .scenarios = std::stoull("0" + database_->meta("scenarios")),
          .shard = database_->meta("shard"),
          .columns = std::move(names)};
}

std::vector<bool> ResultsStore::done() const {
  std::vector<bool> present(header().scenarios, false);
  SqliteStatement select(database_->sqlite, "SELECT scenario FROM results");
  while (select.step()) {
    const auto scenario = static_cast<std::uint64_t>(select.integer(0));
    if (scenario < present.size()) present[scenario] = true;
  }
  return present;
}

std::uint64_t ResultsStore::row_count() const {
  SqliteStatement count(database_->sqlite, "SELECT count(*) FROM results");
  return count.step() ? static_cast<std::uint64_t>(count.integer(0)) : 0;
}

void ResultsStore::add(std::uint64_t scenario,
                       const std::vector<Cell>& axes,
                       const std::vector<Cell>& results,
                       const std::vector<Duration>& makespans) {
  Database& db = *database_;
  SCHEDLAB_EXPECTS(axes.size() + results.size() == db.columns.size(), "cells of one row");
  if (db.insert == nullptr) db.prepare_insert();
  if (db.pending++ == 0) db.sqlite.execute("BEGIN");
  SqliteStatement& insert = *db.insert;
  int parameter = 1;
  insert.bind(parameter++, static_cast<std::int64_t>(scenario));
  for (const Cell& cell : axes) insert.bind(parameter++, cell);
  for (const Cell& cell : results) insert.bind(parameter++, cell);
  insert.step();
  insert.reset();
  SCHEDLAB_EXPECTS(makespans.empty() || db.insert_sample != nullptr, "a table for samples");
  for (std::size_t i = 0; i < makespans.size(); ++i) {
    db.insert_sample->bind(1, static_cast<std::int64_t>(scenario));
    db.insert_sample->bind(2, static_cast<std::int64_t>(i));
    db.insert_sample->bind(3, std::int64_t{makespans[i].count()});
    db.insert_sample->step();
    db.insert_sample->reset();
  }
}

void ResultsStore::commit_if_due() {
  const Database& db = *database_;
  if (db.pending >= rows_per_commit || Clock::now() - db.last_commit >= time_per_commit) flush();
}

void ResultsStore::flush() {
  Database& db = *database_;
  if (db.pending != 0) db.sqlite.execute("COMMIT");
  db.pending = 0;
  db.last_commit = Clock::now();
}

void ResultsStore::save_what_is_there() noexcept {
  Database& db = *database_;
  const bool open = db.pending != 0 && db.sqlite.in_transaction();  // a full disk rolls back
  db.pending = 0;
  try {
    if (open) db.sqlite.execute("COMMIT");
  } catch (const std::exception&) {
    return;  // the rows since the last commit are run again
  }
}

void ResultsStore::seal() {
  Database& db = *database_;
  flush();
  db.insert.reset();
  db.insert_sample.reset();
  db.sqlite.leave_log();
}

void ResultsStore::for_each(
    const std::function<void(std::uint64_t, const std::vector<Cell>&)>& visit) const {
  SqliteStatement select(database_->sqlite, "SELECT * FROM results ORDER BY scenario");
  std::vector<Cell> cells(database_->columns.size());
  while (select.step()) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = select.cell(static_cast<int>(i) + 1);
    visit(static_cast<std::uint64_t>(select.integer(0)), cells);
  }
}

std::vector<Cell> ResultsStore::row(std::uint64_t scenario) const {
  std::vector<Cell> cells;
  SqliteStatement select(database_->sqlite, "SELECT * FROM results WHERE scenario=?");
  select.bind(1, static_cast<std::int64_t>(scenario));
  if (!select.step()) return cells;
  for (std::size_t i = 0; i < database_->columns.size(); ++i) {
    cells.push_back(select.cell(static_cast<int>(i) + 1));
  }
  return cells;
}

std::vector<Duration> ResultsStore::samples(std::uint64_t scenario) const {
  std::vector<Duration> makespans;
  if (!database_->has_samples()) return makespans;
  SqliteStatement select(database_->sqlite,
                         "SELECT makespan_ps FROM samples WHERE scenario=? ORDER BY sample");
  select.bind(1, static_cast<std::int64_t>(scenario));
  while (select.step()) makespans.emplace_back(select.integer(0));
  return makespans;
}

std::vector<std::int64_t> ResultsStore::integer_column(const std::string& name,
                                                       std::int64_t missing) const {
  std::vector<std::int64_t> values(header().scenarios, missing);
  SqliteStatement select(database_->sqlite, "SELECT scenario, " + quoted(name) + " FROM results");
  while (select.step()) {
    const auto scenario = static_cast<std::uint64_t>(select.integer(0));
    if (scenario < values.size() && !select.is_null(1)) values[scenario] = select.integer(1);
  }
  return values;
}

}  // namespace schedlab
