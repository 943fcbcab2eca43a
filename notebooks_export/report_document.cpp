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

[[nodiscard]] std::string_view target_of(const PrintedTable& table, std::size_t line) {
  return line < table.targets.size() ? std::string_view{table.targets[line]} : std::string_view{};
}

/// A column as numbers (null where there is none), or as indices of its different words.
void write_column(TextBuffer& out, const Table& rows, std::size_t column) {
  const auto has_word = [column](const auto& row) {
    return !cell_text(row[column]).empty() && !cell_number(row[column]);
  };
  const bool words = std::any_of(rows.rows.begin(), rows.rows.end(), has_word);
  std::map<std::string, std::size_t> numbered;
  std::vector<const std::string*> order;
  out << "{\"name\":";
  out.json_string(rows.columns[column].name) << ",\"values\":[";
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const Cell& cell = rows.rows[i][column];
    if (i > 0) out << ',';
    if (!words) {
      const auto number = cell_number(cell);
      out << (number ? cell_text(cell) : std::string{"null"});
      continue;
    }
    const auto [entry, added] = numbered.try_emplace(cell_text(cell), order.size());
    if (added) order.push_back(&entry->first);
    out << entry->second;
  }
  out << ']';
  for (std::size_t i = 0; i < order.size(); ++i) {
    out << (i == 0 ? ",\"words\":[" : ",");
    out.json_string(*order[i]);
  }
  out << (order.empty() ? "}" : "]}");
}

[[nodiscard]] std::string explorer_json(const ReportDocument::Explorer& explorer) {
  TextBuffer out;
  const auto member = [&out](std::string_view name, std::string_view value) {
    out << '"' << name << "\":";
    out.json_string(value) << ',';
  };
  out << '{';
  member("x", explorer.x);
  member("y", explorer.y);
  member("colour", explorer.colour);
  out << "\"pages\":{";
  bool first = true;
  for (const auto& [name, target] : explorer.targets) {
    out << (first ? "" : ",");
    first = false;
    out.json_string(name) << ':';
    out.json_string(target);
  }
  out << "},\"columns\":[";
  for (std::size_t i = 0; i < explorer.rows.columns.size(); ++i) {
    if (i > 0) out << ',';
    write_column(out, explorer.rows, i);
  }
  out << "]}";
  return std::move(out).take();
}

class HtmlWriter {
 public:
  [[nodiscard]] std::string write(const ReportDocument& report) {
    begin_html_page(out_, report.title());
    html_line(out_, "h1", report.title());
    for (const ReportDocument::Block& block : report.blocks()) std::visit(*this, block);
    end_html_page(out_, {"report.js"});
    return std::move(out_).take();
  }

  void operator()(const ReportDocument::Heading& heading) {
    out_ << fmt::format("<h{}", heading.level);
    if (!heading.id.empty()) {
      out_ << " id=\"";
      out_.xml(heading.id) << '"';
    }
    out_ << '>';
    out_.xml(heading.text) << fmt::format("</h{}>\n", heading.level);
  }
  void operator()(const ReportDocument::Paragraph& paragraph) {
    constexpr std::array<std::string_view, 4> classes{"", "lead", "warning", "note"};
    html_line(out_, "p", paragraph.text, classes.at(static_cast<std::size_t>(paragraph.tone)));
  }
  void operator()(const ReportDocument::List& list) {
    out_ << "<ul>\n";
    for (const std::string& item : list.items) html_line(out_, "li", item);
    out_ << "</ul>\n";
  }
  void operator()(const ReportDocument::Link& link) {
    out_ << "<p>";
    anchor(link.text, link.target);
    out_ << "</p>\n";
  }
  void operator()(const ReportDocument::Figure& figure) { html_figure(out_, figure.svg); }
  void operator()(const ReportDocument::Code& code) { html_line(out_, "pre", code.text); }
  void operator()(const PrintedTable& table) {
    out_ << "<div class=\"scroll\"><table" << (table.small_print ? " class=\"all\"" : "") << ">\n";
    out_ << "<thead><tr>";
    for (const auto& column : table.columns) cell("th", column.name, column);
    out_ << "</tr></thead>\n<tbody>\n";
    for (std::size_t line = 0; line < table.rows.size(); ++line) {
      const auto& row = table.rows[line];
      const std::string_view target = target_of(table, line);
      out_ << "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i != table.target_column || target.empty()) {
          cell("td", row[i], table.columns[i]);
          continue;
        }
        out_ << (table.columns[i].is_number ? "<td class=\"n\">" : "<td>");
        anchor(row[i], target);
        out_ << "</td>";
      }
      out_ << "</tr>\n";
    }
    out_ << "</tbody></table></div>\n";
  }
  void operator()(const ReportDocument::Explorer& explorer) {
    out_ << "<div class=\"explore\" hidden>\n";
    html_json(out_, {}, explorer_json(explorer));
    out_ << "</div>\n";
  }

 private:
  void cell(std::string_view tag, std::string_view text, const PrintedTable::Column& column) {
    html_element(out_, tag, text, column.is_number ? "n" : "");
  }
  void anchor(std::string_view text, std::string_view target) {
    out_ << "<a href=\"";
    out_.xml(target) << "\">";
    out_.xml(text) << "</a>";
  }

  TextBuffer out_;
};

class MarkdownWriter {
 public:
  [[nodiscard]] std::string write(const ReportDocument& report) {
    out_ = fmt::format("# {}\n", report.title());
    for (const ReportDocument::Block& block : report.blocks()) std::visit(*this, block);
    return std::move(out_);
  }

  void operator()(const ReportDocument::Heading& heading) {
    out_ += fmt::format(
        "\n{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'), heading.text);
  }
  void operator()(const ReportDocument::Paragraph& paragraph) {
    out_ += fmt::format(
        "\n{}{}\n", paragraph.tone == Tone::warning ? "**Warning:** " : "", paragraph.text);
  }
  void operator()(const ReportDocument::List& list) {
    out_ += '\n';
    for (const std::string& item : list.items) out_ += fmt::format("* {}\n", item);
  }
  void operator()(const ReportDocument::Link& link) {
    out_ += fmt::format("\n[{}]({})\n", link.text, link.target);
  }
  void operator()(const ReportDocument::Figure& /*figure*/) {}
  void operator()(const ReportDocument::Explorer& /*explorer*/) {}
  void operator()(const ReportDocument::Code& code) {
    out_ += fmt::format("\n```text\n{}\n```\n", code.text);
  }
  void operator()(const PrintedTable& table) {
    out_ += "\n|";
    for (const auto& column : table.columns) out_ += fmt::format(" {} |", cell(column.name));
    out_ += "\n|";
    for (const auto& column : table.columns) out_ += column.is_number ? "---:|" : "---|";
    out_ += '\n';
    for (std::size_t line = 0; line < table.rows.size(); ++line) {
      out_ += '|';
      const std::string_view target = target_of(table, line);
      for (std::size_t i = 0; i < table.rows[line].size(); ++i) {
        const std::string& text = table.rows[line][i];
        out_ += target.empty() || i != table.target_column
                    ? fmt::format(" {} |", cell(text))
                    : fmt::format(" [{}]({}) |", cell(text), target);
      }
      out_ += '\n';
    }
  }

 private:
  /// What would end or break a cell is replaced.
  [[nodiscard]] static std::string cell(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '|', '/');
    return text;
  }

  std::string out_;
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
  void operator()(const ReportDocument::List& list) {
    for (const std::string& item : list.items) out_ += fmt::format("  {}\n", item);
  }
  void operator()(const ReportDocument::Link& /*link*/) {}
  void operator()(const ReportDocument::Figure& /*figure*/) {}
  void operator()(const ReportDocument::Code& /*code*/) {}
  void operator()(const ReportDocument::Explorer& /*explorer*/) {}
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
  PrintedTable made;
  made.small_print = true;
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

std::string markdown_of(const ReportDocument& report) {
  return MarkdownWriter{}.write(report);
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
