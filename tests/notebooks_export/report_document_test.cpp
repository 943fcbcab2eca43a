// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/report_document.hpp"

#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <string>

namespace schedlab {
namespace {

using namespace testing;

/// One block of each kind.
[[nodiscard]] ReportDocument sample() {
  ReportDocument report{"a <b>"};
  report.paragraph("who is fastest", Tone::lead);
  report.paragraph("");
  report.paragraph("few samples", Tone::warning);
  report.heading("Times");
  PrintedTable table = empty_table({"policy", "ms"});
  table.rows = {{"heft", "12.5"}, {"a|b", "7"}, {"f\xC3\xBCr", "100"}};
  report.table(table);
  report.paragraph("medians", Tone::note);
  report.figure("<svg></svg>\n");
  report.code("{\n}");
  return report;
}

TEST_CASE("A report as HTML has its blocks in order, and its texts are escaped") {
  const std::string html = html_of(sample());
  CHECK(occurrences(html, "<h1>a &lt;b&gt;</h1>") == 1);
  CHECK(occurrences(html, "</p>") == 3);  // an empty paragraph is none
  CHECK(occurrences(html, "<p class=\"warning\">few samples</p>") == 1);
  CHECK(occurrences(html, "<tr><td>heft</td><td class=\"n\">12.5</td></tr>") == 1);
  CHECK(html.find("<h2>Times</h2>") < html.find("<svg>"));
  CHECK(occurrences(html, "<pre>{\n}</pre>") == 1);
}

TEST_CASE("A report as text aligns columns by characters and leaves out what is for pages") {
  CHECK(text_of(sample()) ==
        "a <b>\n"
        "who is fastest\n"
        "warning: few samples\n"
        "\n"
        "Times\n"
        "  policy    ms\n"
        "  heft    12.5\n"
        "  a|b        7\n"
        "  f\xC3\xBCr      100\n");
}

TEST_CASE("A report as Markdown has no figures, and no cell ends its table") {
  CHECK(markdown_of(sample()) ==
        "# a <b>\n"
        "\nwho is fastest\n"
        "\n**Warning:** few samples\n"
        "\n## Times\n"
        "\n| policy | ms |\n"
        "|---|---:|\n"
        "| heft | 12.5 |\n"
        "| a/b | 7 |\n"
        "| f\xC3\xBCr | 100 |\n"
        "\nmedians\n"
        "\n```text\n{\n}\n```\n");
}

TEST_CASE("Links, ids and lists are on pages; the terminal has lists alone") {
  ReportDocument report{"links"};
  report.heading("part", 3, "a\"b");
  report.list({"one <i>", "two"});
  report.link("more", "x/report.html");
  PrintedTable table = empty_table({"name", "ms"});
  table.rows = {{"s1", "1"}, {"all", "2"}};
  table.targets = {"#s1"};
  report.table(table);
  const std::string html = html_of(report);
  CHECK(occurrences(html, "<h3 id=\"a&quot;b\">part</h3>") == 1);
  CHECK(occurrences(html, "<li>one &lt;i&gt;</li>") == 1);
  CHECK(occurrences(html, "<p><a href=\"x/report.html\">more</a></p>") == 1);
  CHECK(occurrences(html, "<tr><td><a href=\"#s1\">s1</a></td><td class=\"n\">1</td></tr>") == 1);
  CHECK(occurrences(html, "<tr><td>all</td><td class=\"n\">2</td></tr>") == 1);
  const std::string markdown = markdown_of(report);
  CHECK(occurrences(markdown, "\n* one <i>\n* two\n") == 1);
  CHECK(occurrences(markdown, "\n[more](x/report.html)\n") == 1);
  CHECK(occurrences(markdown, "| [s1](#s1) | 1 |\n| all | 2 |\n") == 1);
  CHECK(text_of(report) == "links\n\npart\n  one <i>\n  two\n  name  ms\n  s1     1\n  all    2\n");
}

TEST_CASE("A row's link stands in the column that a table names") {
  PrintedTable table = empty_table({"policy", "makespan"});
  table.rows = {{"heft", "3"}, {"peft", "4"}};
  table.targets = {"", "runs/4.html"};
  table.target_column = 1;
  ReportDocument page("page");
  page.table(table);
  CHECK(html_of(page).find("<td>peft</td><td class=\"n\"><a href=\"runs/4.html\">4</a></td>") !=
        std::string::npos);
  CHECK(markdown_of(page).find("| peft | [4](runs/4.html) |") != std::string::npos);
}

TEST_CASE("In a table as text long cells are cut between characters, but not in the last column") {
  std::string long_text;
  for (int i = 0; i < 60; ++i) long_text += "\xC3\xBC";
  PrintedTable table = empty_table({"a", "b"}, 2);
  table.rows = {{long_text, long_text}};
  const std::string text = text_of(table);
  CHECK(occurrences(text, "\xC3\xBC") == 47 + 60);  // 48 characters with the ellipsis
  CHECK(occurrences(text, "\xC3\xBC\xE2\x80\xA6  \xC3\xBC") == 1);
}

TEST_CASE("A table of values becomes texts; a column with any number is one of numbers") {
  Table table;
  table.columns = {{"policy", ColumnRole::axis}, {"makespan_us"}};
  table.rows = {{"heft", {}}, {"peft", 2.5}, {"diagonal", 3.0}};
  const PrintedTable texts = printed_table(table, 2);
  CHECK_FALSE(texts.columns[0].is_number);
  CHECK(texts.columns[1].is_number);
  REQUIRE(texts.rows.size() == 2);
  CHECK(texts.rows[0] == std::vector<std::string>{"heft", ""});
  CHECK(texts.rows[1] == std::vector<std::string>{"peft", "2.5"});
}

}  // namespace
}  // namespace schedlab
