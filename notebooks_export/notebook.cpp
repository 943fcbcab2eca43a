// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/notebook.hpp"

#include "notebooks_export/embedded_texts.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::string_view cell_mark = "# %%";
struct NotebookCell {
  bool markdown = false;
  bool parameters = false;
  std::vector<std::string> lines;  ///< without line ends
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// A name as a heading shows it: one line, in which nothing is HTML, a link, a picture, code or a
/// formula.
std::string heading_text(std::string_view text) {
  constexpr std::string_view marks = "\\`[]$";
  TextBuffer escaped;
  escaped.xml(text);
  std::string heading;
  for (const char c : std::move(escaped).take()) {
    if (marks.find(c) != std::string_view::npos) heading += '\\';
    heading += c == '\n' ? ' ' : c;
  }
  return heading;
}

class NotebookCells {
 public:
  explicit NotebookCells(const NotebookFacts& facts) : facts_(facts) {
    TextBuffer folder;
    folder.json_string(facts.folder);  // also a Python literal
    folder_literal_ = std::move(folder).take();
    add_file(to_string(facts.subject));
    for (NotebookCell& cell : cells_) trim(cell);
  }

  [[nodiscard]] const std::vector<NotebookCell>& cells() const { return cells_; }

 private:
  void add_file(std::string_view name) {
    bool in_cell = false;  // what stands before the first mark is for readers of the file
    for (const std::string_view line : lines_of(embedded_text(std::string{name} + ".py"))) {
      if (line.starts_with(cell_mark)) {
        in_cell = start_cell(line.substr(cell_mark.size()));
      } else if (in_cell) {
        add_line(line);
      }
    }
  }

  /// True if the lines that follow belong to a new cell.
  bool start_cell(std::string_view rest) {
    constexpr std::string_view other_cells = " [cells ";
    if (rest.starts_with(other_cells)) {
      rest.remove_prefix(other_cells.size());
      add_file(rest.substr(0, rest.find(']')));
      return false;
    }
    cells_.push_back(
        {.markdown = rest == " [markdown]", .parameters = rest == " [parameters]", .lines = {}});
    return true;
  }

  void add_line(std::string_view line) {
    NotebookCell& cell = cells_.back();
    std::string text{line};
    if (cell.markdown) {
      text.erase(0, text.starts_with("# ") ? 2 : 1);
      replace_all(text, "{{title}}", heading_text(facts_.title));
      replace_all(text, "{{program}}", facts_.program);
    } else {
      replace_all(text, "\"{{folder}}\"", folder_literal_);
    }
    cell.lines.push_back(std::move(text));
  }

  static void trim(NotebookCell& cell) {
    while (!cell.lines.empty() && cell.lines.back().empty()) cell.lines.pop_back();
  }

  const NotebookFacts& facts_;
  std::string folder_literal_;
  std::vector<NotebookCell> cells_;
};

void write_cell(TextBuffer& out, const NotebookCell& cell, std::size_t index) {
  out << "  {\n   \"cell_type\": " << (cell.markdown ? "\"markdown\"" : "\"code\"") << ",\n";
  out << "   \"id\": \"cell-" << index << "\",\n   \"metadata\": {";
  if (cell.parameters) out << "\"tags\": [\"parameters\"]";
  out << "},\n";
  if (!cell.markdown) out << "   \"execution_count\": null,\n   \"outputs\": [],\n";
  out << "   \"source\": [";
  for (std::size_t i = 0; i < cell.lines.size(); ++i) {
    out << (i == 0 ? "\n    " : ",\n    ");
    out.json_string(cell.lines[i] + (i + 1 < cell.lines.size() ? "\n" : ""));
  }
  out << "\n   ]\n  }";
}

}  // namespace

std::string notebook_json(const NotebookFacts& facts) {
  const NotebookCells notebook{facts};
  TextBuffer out;
  out << "{\n \"cells\": [\n";
  for (std::size_t i = 0; i < notebook.cells().size(); ++i) {
    if (i > 0) out << ",\n";
    write_cell(out, notebook.cells()[i], i);
  }
  out << "\n ],\n \"metadata\": {\n  \"kernelspec\": {\"display_name\": \"Python 3\", "
         "\"language\": \"python\", \"name\": \"python3\"},\n"
         "  \"language_info\": {\"name\": \"python\"}\n },\n"
         " \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
  return std::move(out).take();
}

}  // namespace schedlab
