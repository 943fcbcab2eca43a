// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace schedlab {

/// An open database; closed at the end of its life.
class SqliteDatabase {
 public:
  /// read_only leaves no file beside the database, and works where nothing can be written, unless
  /// there is a write-ahead log: of a process that writes, or was killed as it wrote.
  enum class Mode : std::uint8_t { create, read_write, read_only };
  /// Throws InputError if the file cannot be opened.
  SqliteDatabase(const std::filesystem::path& path, Mode mode);

  /// Runs statements without results. Throws InfeasibleError, which says so where the disk is full.
  void execute(const std::string& sql);
  [[nodiscard]] bool in_transaction() const;
  /// Is there a write-ahead log beside the file?
  [[nodiscard]] bool has_log() const;
  /// Puts the write-ahead log into the file, and writes none any more; does nothing if somebody
  /// reads the file for seconds.
  void leave_log();
  [[nodiscard]] sqlite3* get() const { return handle_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A compiled statement. `database` must outlive it.
class SqliteStatement {
 public:
  /// Throws InputError for SQL this file does not understand: it is no file of ours.
  SqliteStatement(const SqliteDatabase& database, const std::string& sql);

  // Parameters and columns count from 1 and 0, as in SQLite.
  void bind(int parameter, const Cell& cell);
  void bind(int parameter, std::int64_t value);
  /// The text must live until the next step().
  void bind(int parameter, std::string_view text);
  /// True: there is a row.
  bool step();
  void reset();
  [[nodiscard]] Cell cell(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqliteDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace schedlab
