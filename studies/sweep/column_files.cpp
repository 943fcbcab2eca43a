// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/column_files.hpp"

#include "sim/base/error.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/file.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/sweep/results_csv.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace schedlab {

/// What the values of a column are; of a mix the last one.
enum class ColumnFileType : std::uint8_t { integer, number, text };
template <>
struct EnumNames<ColumnFileType> {
  static constexpr auto names = name_list("integer", "number", "text");
};

namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "what '<' in the files says");

constexpr std::size_t buffered_bytes = std::size_t{1} << 16U;
constexpr std::int64_t most_exact = std::int64_t{1} << 53U;  // of float64

/// What is known of a column after a look at all rows.
struct ColumnContent {
  std::string name;
  std::string file;
  ColumnRole role = ColumnRole::metric;
  ColumnFileType type = ColumnFileType::integer;
  bool has_gaps = false;
  bool has_large = false;           ///< whole numbers beyond most_exact
  std::vector<std::string> values;  ///< of texts, in the order in which they come first
  std::map<std::string, std::int32_t> places{};

  void look_at(const Cell& cell) {
    if (cell.index() == 0) {
      has_gaps = true;
    } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      has_large = has_large || *whole > most_exact || *whole < -most_exact;
    } else {
      const bool is_text = std::holds_alternative<std::string>(cell);
      type = std::max(type, is_text ? ColumnFileType::text : ColumnFileType::number);
    }
  }

  std::int32_t place_of(const Cell& cell) {
    if (cell.index() == 0) return -1;
    const auto [found, is_new] =
        places.try_emplace(to_string(cell), static_cast<std::int32_t>(values.size()));
    if (is_new) values.push_back(found->first);
    return found->second;
  }
};

std::string_view role_of(const ColumnContent& column) {
  constexpr std::array<std::string_view, 3> names{"axis", "metric", "note"};
  return names.at(static_cast<std::size_t>(column.role));
}

/// What columns.json says.
struct ColumnList {
  std::string name;  ///< of the spec
  std::uint64_t rows = 0;
  std::vector<ColumnContent> columns;
};

const Fields<ColumnList>& column_list_fields() {
  using C = ColumnContent;
  using L = ColumnList;
  static const Fields<C> column{
      {"name", &C::name},
      {"file", &C::file},
      {"role", role_of},
      {"type",
       &C::type,
       {.doc = "integer: int64; number: float64; text: int32, a place in values"}},
      when<C>([](const C& c) { return c.type == ColumnFileType::text; }, {{"values", &C::values}})};
  static const Fields<L> fields{
      {"name", &L::name}, {"rows", &L::rows}, {"columns", &L::columns, column}};
  return fields;
}

std::string file_name_of(const std::string& column, std::size_t index) {
  const bool plain = column.find_first_not_of(
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                         "0123456789_.-") == std::string::npos &&
                     !column.starts_with('.');
  return plain ? column + ".npy" : fmt::format("column_{}.npy", index);
}

/// One .npy file that grows by values.
class ColumnFile {
 public:
  ColumnFile(const fs::path& path, const ColumnContent& content, std::uint64_t rows)
      : path_(path), stream_(path, std::ios::binary) {
    const char* kind = content.type == ColumnFileType::text                           ? "<i4"
                       : content.type == ColumnFileType::integer && !content.has_gaps ? "<i8"
                                                                                      : "<f8";
    // https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    constexpr std::size_t alignment = 64;
    constexpr std::size_t before = 10;  // magic, version, length
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", kind, rows);
    header.append(alignment - (before + header.size() + 1) % alignment, ' ');
    header += '\n';
    const auto size = static_cast<std::uint16_t>(header.size());
    bytes_ = std::string{"\x93NUMPY\x01\x00", 8};
    append(size);
    bytes_ += header;
  }

  void add(const Cell& cell, ColumnContent& content) {
    if (content.type == ColumnFileType::text) {
      append(content.place_of(cell));
    } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
      if (content.type == ColumnFileType::integer && !content.has_gaps) {
        append(*whole);
      } else {
        append(static_cast<double>(*whole));
      }
    } else {
      const auto* number = std::get_if<double>(&cell);
      append(number != nullptr ? *number : std::numeric_limits<double>::quiet_NaN());
    }
    if (bytes_.size() >= buffered_bytes) write();
  }

  void finish() {
    write();
    stream_.close();
    if (stream_) return;
    throw InfeasibleError(path_.string() +
                          ": cannot be written: " + std::generic_category().message(errno));
  }

 private:
  template <class Value>
  void append(Value value) {
    std::array<char, sizeof value> raw{};
    std::memcpy(raw.data(), &value, sizeof value);
    bytes_.append(raw.data(), raw.size());
  }
  void write() {
    stream_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    bytes_.clear();
  }

  fs::path path_;
  std::ofstream stream_;
  std::string bytes_;
};

ColumnList look_at_columns(const ResultsStore& store, const std::optional<Baseline>& baseline) {
  ColumnList list{.name = store.header().name, .rows = 0, .columns = {}};
  for (const Column& column : csv_columns(store, baseline.has_value())) {
    list.columns.push_back({.name = column.name,
                            .file = file_name_of(column.name, list.columns.size()),
                            .role = column.role,
                            .values = {}});
  }
  for_each_result(store, baseline, [&](const std::vector<Cell>& row) {
    ++list.rows;
    for (std::size_t i = 0; i < row.size(); ++i) list.columns[i].look_at(row[i]);
  });
  for (const ColumnContent& column : list.columns) {
    const bool mixed = column.has_gaps || column.type == ColumnFileType::number;
    if (column.type == ColumnFileType::text || !column.has_large || !mixed) continue;
    throw InfeasibleError(fmt::format(
        "column {}: whole numbers beyond 2^53 beside gaps or fractions, which float64 does not "
        "hold\n  schedlab export csv keeps them",
        column.name));
  }
  return list;
}

}  // namespace

void write_column_files(const ResultsStore& store,
                        const std::optional<Baseline>& baseline,
                        const fs::path& folder) {
  ColumnList list = look_at_columns(store, baseline);
  std::vector<ColumnFile> files;
  files.reserve(list.columns.size());
  for (const ColumnContent& column : list.columns) {
    files.emplace_back(folder / column.file, column, list.rows);
  }
  for_each_result(store, baseline, [&](const std::vector<Cell>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) files[i].add(row[i], list.columns[i]);
  });
  for (ColumnFile& file : files) file.finish();
  schema::Json json{{"schedlab", "columns"}, {"version", 1}};
  column_list_fields().add_to(json, list);
  write_file_atomically(folder / columns_json, json.dump(1) + "\n");
}

std::string columns_schema() {
  return schema::file(
             "SchedLab columns of a sweep's results", "columns", column_list_fields().schema())
      .dump(2);
}

}  // namespace schedlab
