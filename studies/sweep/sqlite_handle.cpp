// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sqlite_handle.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <system_error>
#include <type_traits>

namespace schedlab {
namespace {

constexpr int longest_wait_ms = 2000;

int flags(SqliteDatabase::Mode mode) {
  using enum SqliteDatabase::Mode;
  switch (mode) {
    case create:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case read_write:
      return SQLITE_OPEN_READWRITE;
    case read_only:
      return SQLITE_OPEN_READONLY;
  }
  return SQLITE_OPEN_READONLY;
}

[[noreturn]] void not_ours(const std::string& path, const std::string& why) {
  throw InputError({.file = path,
                    .pointer = {},
                    .found = fmt::format("no readable results file ({})", why),
                    .expected = "results.sqlite as schedlab sweep writes it",
                    .hint = {}});
}

/// As SQLite's "URI Filenames" has it. immutable: no locks, no log, nothing beside the file.
std::string uri_of(const std::filesystem::path& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + (immutable ? "?immutable=1" : "");
}

}  // namespace

void SqliteDatabase::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}
void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteDatabase::SqliteDatabase(const std::filesystem::path& path, Mode mode)
    : path_(path.string()) {
  sqlite3* handle = nullptr;
  const std::string uri = uri_of(path, mode == Mode::read_only && !has_log());
  const int code = sqlite3_open_v2(
      uri.c_str(), &handle, flags(mode) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) not_ours(path_, sqlite3_errstr(code));
}

void SqliteDatabase::fail(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_.get());
  if (code == SQLITE_FULL || code == SQLITE_IOERR) {
    throw InfeasibleError(fmt::format(
        "{}: cannot be written: {}",
        path_,
        code == SQLITE_FULL ? "No space left on device" : sqlite3_errmsg(handle_.get())));
  }
  if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN) {
    throw InputError({.file = path_,
                      .pointer = {},
                      .found = fmt::format("results that a run has not finished, in a place where "
                                           "nothing can be written ({})",
                                           sqlite3_errmsg(handle_.get())),
                      .expected = "a place that can be written, or finished results",
                      .hint = "schedlab sweep --resume finishes them"});
  }
  throw InfeasibleError(fmt::format("{}: {}: {}", path_, doing, sqlite3_errmsg(handle_.get())));
}

bool SqliteDatabase::in_transaction() const {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

bool SqliteDatabase::has_log() const {
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path_ + "-wal", ignored);
  return !ignored && bytes > 0;
}

void SqliteDatabase::leave_log() {
  sqlite3_busy_timeout(handle_.get(), longest_wait_ms);
  sqlite3_exec(handle_.get(), "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
}

void SqliteDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

SqliteStatement::SqliteStatement(const SqliteDatabase& database, const std::string& sql)
    : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(
      database.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_IOERR) {
    database.fail("reading results");
  }
  if (code != SQLITE_OK) not_ours(database.path(), sqlite3_errmsg(database.get()));
}

void SqliteStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}

void SqliteStatement::bind(int parameter, std::string_view text) {
  // nullptr as destructor is SQLITE_STATIC: the caller keeps the text.
  sqlite3_bind_text(
      statement_.get(), parameter, text.data(), static_cast<int>(text.size()), nullptr);
}

void SqliteStatement::bind(int parameter, const Cell& cell) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          sqlite3_bind_null(statement_.get(), parameter);
        } else if constexpr (std::is_same_v<Value, double>) {
          sqlite3_bind_double(statement_.get(), parameter, value);
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
          bind(parameter, value);
        } else {
          bind(parameter, std::string_view{value});
        }
      },
      cell);
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
    not_ours(database_->path(), sqlite3_errstr(code));
  }
  if (code != SQLITE_DONE) database_->fail("reading or writing results");
  return false;
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
}

Cell SqliteStatement::cell(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return integer(column);
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_.get(), column);
    case SQLITE_NULL:
      return std::monostate{};
    default:
      return text(column);
  }
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string{} : std::string(bytes, size);
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace schedlab
