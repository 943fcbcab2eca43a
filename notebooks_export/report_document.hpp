// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace schedlab {

/// A table of texts as people read them.
struct PrintedTable {
  struct Column {
    std::string name;
    bool is_number = false;  ///< set flush right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> targets;  ///< by row, what a cell links to; "" or absent: nothing
  std::size_t target_column = 0;     ///< which cell that is
  bool small_print = false;          ///< for tables of many columns
};
/// Without rows yet: the first `words` columns hold words, the others numbers.
[[nodiscard]] PrintedTable empty_table(const std::vector<std::string>& names,
                                       std::size_t words = 1);
/// The first rows of a table of values, in small print. Columns with a number in any row are
/// columns of numbers.
[[nodiscard]] PrintedTable printed_table(const Table& table, std::size_t max_rows);

/// How a paragraph is meant: the summary beneath the title, a warning, or small print.
enum class Tone : std::uint8_t { plain, lead, warning, note };

/// A report as a value: what it says in order, without its look.
class ReportDocument {
 public:
  struct Heading {
    std::string text;
    int level = 2;
    std::string id;  ///< what links to it say behind "#", on pages; may be empty
  };
  struct Paragraph {
    std::string text;
    Tone tone = Tone::plain;
  };
  struct List {
    std::vector<std::string> items;
  };
  /// A paragraph of its own.
  struct Link {
    std::string text;
    std::string target;  ///< relative to the report
  };
  struct Figure {
    std::string svg;
  };
  struct Code {
    std::string text;
  };
  /// A chart of rows along axes that the reader chooses. Only a page with scripts has it.
  struct Explorer {
    Table rows;
    std::string x, y, colour;                    ///< columns that it begins with
    std::map<std::string, std::string> targets;  ///< by text of the first column: what to open
  };
  using Block = std::variant<Heading, Paragraph, List, Link, PrintedTable, Figure, Code, Explorer>;

  explicit ReportDocument(std::string title) : title_(std::move(title)) {}

  void heading(std::string text, int level = 2, std::string id = {}) {
    blocks_.push_back(Heading{std::move(text), level, std::move(id)});
  }
  /// Empty texts are left out.
  void paragraph(std::string text, Tone tone = Tone::plain);
  void list(std::vector<std::string> items) { blocks_.push_back(List{std::move(items)}); }
  void link(std::string text, std::string target) {
    blocks_.push_back(Link{std::move(text), std::move(target)});
  }
  void table(PrintedTable table) { blocks_.push_back(std::move(table)); }
  void figure(std::string svg) { blocks_.push_back(Figure{std::move(svg)}); }
  void explorer(Explorer explorer) { blocks_.push_back(std::move(explorer)); }
  void code(std::string text) { blocks_.push_back(Code{std::move(text)}); }

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::string title_;
  std::vector<Block> blocks_;
};

/// One page that refers to nothing outside, and reads well without its script, which makes tables
/// and pictures interactive; all texts are escaped.
[[nodiscard]] std::string html_of(const ReportDocument& report);
/// For a terminal: tables with aligned columns, in which long cells before the last column are cut.
/// Figures, code, links and notes are for pages only.
[[nodiscard]] std::string text_of(const ReportDocument& report);
/// In Markdown; figures are left out, and a `|` in a cell becomes `/`.
[[nodiscard]] std::string markdown_of(const ReportDocument& report);
/// The table alone, as text_of() has it in a report.
[[nodiscard]] std::string text_of(const PrintedTable& table);

}  // namespace schedlab
