// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report_document.hpp"

#include "notebooks_export/html_style.hpp"
#include "notebooks_export/svg.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace schedlab {

namespace {

constexpr std::size_t longest_cell = 48;  // in characters, before the last column

class HtmlWriter {
 public:
  [[nodiscard]] std::string write(const ReportDocument& report) {
    begin_html_page(out_, report.title());
    html_line(out_, "h1", report.title());
    for (const ReportDocument::Block& block : report.blocks()) std::visit(*this, block);
    end_html_page(out_);
    return std::move(out_).take();
  }

  void operator()(const ReportDocument::Heading& heading) {
    html_line(out_, fmt::format("h{}", heading.level), heading.text);
  }
  void operator()(const ReportDocument::Paragraph& paragraph) {
    constexpr std::array<std::string_view, 4> classes{"", "lead", "warning", "note"};
    html_line(out_, "p", paragraph.text, classes.at(static_cast<std::size_t>(paragraph.tone)));
  }
  void operator()(const ReportDocument::Figure& figure) { html_figure(out_, figure.svg); }
  void operator()(const ReportDocument::Code& code) { html_line(out_, "pre", code.text); }
  void operator()(const PrintedTable& table) {
    out_ << "<div class=\"scroll\"><table" << (table.small_print ? " class=\"all\"" : "") << ">\n";
    out_ << "<tr>";
    for (const auto& column : table.columns) cell("th", column.name, column);
    out_ << "</tr>\n";
    for (const auto& row : table.rows) {
      out_ << "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) cell("td", row[i], table.columns[i]);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

 private:
  void cell(std::string_view tag, std::string_view text, const PrintedTable::Column& column) {
    html_element(out_, tag, text, column.is_number ? "n" : "");
  }

  TextBuffer out_;
};

/// Byte at which the character of this index begins; the size of the text if it is shorter.
[[nodiscard]] std::size_t character_begin(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += std::max<std::size_t>(utf8_length(text.substr(at)), 1);
    --index;
  }
  return at;
}

[[nodiscard]] std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(character_begin(text, 1));
  return count;
}

/// The cells of a row, those before the last one cut.
[[nodiscard]] std::vector<std::string> cut_cells(std::vector<std::string> cells) {
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    if (character_count(cells[i]) <= longest_cell) continue;
    cells[i].resize(character_begin(cells[i], longest_cell - 1));
    cells[i] += ellipsis;
  }
  return cells;
}

/// Columns two blanks apart; a line begins with two, too.
class TextWriter {
 public:
  [[nodiscard]] std::string write(const ReportDocument& report) {
    out_ = report.title() + '\n';
    for (const ReportDocument::Block& block : report.blocks()) std::visit(*this, block);
    return take();
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

  void operator()(const ReportDocument::Heading& heading) {
    out_ += fmt::format("\n{}\n", heading.text);
  }
  void operator()(const ReportDocument::Paragraph& paragraph) {
    if (paragraph.tone == Tone::note) return;
    out_ += paragraph.tone == Tone::warning ? "warning: " : "";
    out_ += paragraph.text + '\n';
  }
  void operator()(const ReportDocument::Figure& /*figure*/) {}
  void operator()(const ReportDocument::Code& /*code*/) {}
  void operator()(const PrintedTable& table) {
    std::vector<std::vector<std::string>> lines(1);
    for (const auto& column : table.columns) lines.front().push_back(column.name);
    for (const auto& row : table.rows) lines.push_back(cut_cells(row));
    std::vector<std::size_t> widths(table.columns.size(), 0);
    for (const auto& cells : lines) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        widths[i] = std::max(widths[i], character_count(cells[i]));
      }
    }
    for (const auto& cells : lines) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string blanks(widths[i] - character_count(cells[i]), ' ');
        line += "  " + (table.columns[i].is_number ? blanks + cells[i] : cells[i] + blanks);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out_ += line + '\n';
    }
  }

 private:
  std::string out_;
};

}  // namespace

PrintedTable empty_table(const std::vector<std::string>& names, std::size_t words) {
  PrintedTable table;
  for (const std::string& name : names) {
    table.columns.push_back({name, table.columns.size() >= words});
  }
  return table;
}

PrintedTable printed_table(const Table& table, std::size_t max_rows) {
  PrintedTable made{.columns = {}, .rows = {}, .small_print = true};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool number = std::any_of(table.rows.begin(), table.rows.end(), [i](const auto& row) {
      return cell_number(row[i]).has_value();
    });
    made.columns.push_back({table.columns[i].name, number});
  }
  for (std::size_t i = 0; i < std::min(table.rows.size(), max_rows); ++i) {
    auto& row = made.rows.emplace_back();
    for (const Cell& cell : table.rows[i]) row.push_back(cell_text(cell));
  }
  return made;
}

void ReportDocument::paragraph(std::string text, Tone tone) {
  if (!text.empty()) blocks_.push_back(Paragraph{std::move(text), tone});
}

std::string html_of(const ReportDocument& report) {
  return HtmlWriter{}.write(report);
}

std::string text_of(const ReportDocument& report) {
  return TextWriter{}.write(report);
}

std::string text_of(const PrintedTable& table) {
  TextWriter writer;
  writer(table);
  return writer.take();
}

}  // namespace schedlab
