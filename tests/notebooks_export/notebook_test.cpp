// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/notebook.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace schedlab {
namespace {

using nlohmann::json;

constexpr auto subjects = {NotebookSubject::run,
                           NotebookSubject::sweep,
                           NotebookSubject::validation,
                           NotebookSubject::recording};

json notebook_of(NotebookSubject subject, const std::string& title, const std::string& folder) {
  return json::parse(notebook_json(
      {.subject = subject, .title = title, .folder = folder, .program = "schedlab 9.9"}));
}

std::string source_of(const json& cell) {
  std::string text;
  for (const json& line : cell["source"]) text += line.get<std::string>();
  return text;
}

std::string all_sources(const json& notebook) {
  std::string text;
  for (const json& cell : notebook["cells"]) text += source_of(cell) + "\n";
  return text;
}

TEST_CASE("A notebook has what nbformat 4.5 asks for: unique ids, and code cells without outputs") {
  for (const NotebookSubject subject : subjects) {
    CAPTURE(to_string(subject));
    const json notebook = notebook_of(subject, "title", ".");
    CHECK(notebook["nbformat"] == 4);
    CHECK(notebook["nbformat_minor"] == 5);
    CHECK(notebook["metadata"]["kernelspec"]["name"] == "python3");
    std::set<std::string> ids;
    for (const json& cell : notebook["cells"]) {
      CHECK(ids.insert(cell["id"].get<std::string>()).second);
      CHECK(cell["metadata"].is_object());
      CHECK_FALSE(source_of(cell).empty());
      if (cell["cell_type"] != "code") continue;
      CHECK(cell["outputs"] == json::array());
      CHECK(cell["execution_count"] == nullptr);
    }
  }
}

TEST_CASE("Title, program and folder stand where a reader looks for them, and no mark is left") {
  for (const NotebookSubject subject : subjects) {
    CAPTURE(to_string(subject));
    const json notebook = notebook_of(subject, "An <odd>\ntitle", "../out/a \"b\"\\c");
    const std::string heading = source_of(notebook["cells"][0]);
    CHECK(heading.starts_with("# An &lt;odd&gt; title\n"));  // one line, and no HTML
    CHECK(heading.find("schedlab 9.9") != std::string::npos);
    const std::string text = all_sources(notebook);
    CHECK(text.find(R"(folder = Path("../out/a \"b\"\\c"))") != std::string::npos);
    CHECK(text.find("{{") == std::string::npos);
    CHECK(text.find("# %%") == std::string::npos);
  }
}

TEST_CASE("a name in a heading is a name, whatever it looks like") {
  const json notebook = notebook_of(
      NotebookSubject::run, "<script>a</script> ![p](http://x) `c` $m$ a_b \xE2\x80\xAEz", ".");
  // Of U+202E, which would reverse what follows, the replacement character is left.
  CHECK(all_sources(notebook).find("# &lt;script&gt;a&lt;/script&gt; !\\[p\\](http://x) \\`c\\` "
                                   "\\$m\\$ a_b \xEF\xBF\xBDz\n") != std::string::npos);
}

TEST_CASE("All that a user may want to change stands in one cell, tagged parameters") {
  for (const NotebookSubject subject : subjects) {
    CAPTURE(to_string(subject));
    int tagged = 0;
    const json notebook = notebook_of(subject, "title", ".");
    for (const json& cell : notebook["cells"]) {
      if (cell["metadata"].value("tags", json::array()) != json{"parameters"}) continue;
      ++tagged;
      CHECK(source_of(cell).find("folder = Path(\".\")") != std::string::npos);
      CHECK(source_of(cell).find("figures = None") != std::string::npos);
    }
    CHECK(tagged == 1);
  }
}

TEST_CASE("Cells of another file are put in, in the order of the notebook") {
  const std::string text = all_sources(notebook_of(NotebookSubject::recording, "title", "."));
  const std::size_t colors = text.find("COLORS = [");
  const std::size_t reader = text.find("def load_trace");
  const std::size_t use = text.find("load_trace(folder");
  CHECK(colors < reader);
  CHECK(reader < use);
  CHECK(use != std::string::npos);
}

}  // namespace
}  // namespace schedlab
