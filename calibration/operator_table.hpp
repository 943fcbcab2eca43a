// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A table of measured operators, CSV with a line of column names, plain or gzip;
/// docs/calibration.md has the columns. Cells may be quoted.
class OperatorTable {
 public:
  /// Throws InputError naming file and line for a file that cannot be read, has no rows, or rows of
  /// another number of cells than columns.
  [[nodiscard]] static OperatorTable read(const std::filesystem::path& path);
  /// The same from text; `file` is for messages.
  [[nodiscard]] static OperatorTable parse(std::string_view text, const std::string& file);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t rows() const { return cells_.size(); }
  [[nodiscard]] bool has(std::string_view column) const { return index_of(column).has_value(); }
  /// Throw InputError naming file, line and column: a missing column, no number.
  [[nodiscard]] const std::string& text(std::size_t row, std::string_view column) const;
  [[nodiscard]] double number(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::int64_t whole(std::size_t row, std::string_view column) const;
  /// Of a row, at least a picosecond: column `us`, `microseconds` or `time_us`, or `latency` (ms).
  [[nodiscard]] double microseconds(std::size_t row) const;
  /// Column `kind`, else what the columns say: m, n and k are those of a `gemm`, heads, kv_heads
  /// and step of `attention`, collective and gpus of a `collective`, dispatch_sms of an
  /// `expert_exchange`.
  [[nodiscard]] std::string kind(std::size_t row) const;
  /// Column `type` (or `data_type`), else bf16.
  [[nodiscard]] DataType type(std::size_t row) const;
  [[noreturn]] void reject(std::size_t row,
                           std::string_view column,
                           std::string found,
                           std::string expected) const;

 private:
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view column) const;

  std::string file_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<std::size_t> lines_;  // of each row in the file
};

}  // namespace schedlab
