// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/text_buffer.hpp"
#include "studies/base/folder_manifest.hpp"
#include "studies/serving/served_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr int deepest = 6;  // folders in folders that are looked at
constexpr std::size_t most_results = 2000;

/// A folder that a verb has made.
struct FoundResult {
  std::string path;  ///< relative, without a final '/'; "" is the folder that is served
  std::string verb;
  std::string state;
  std::vector<std::string> files;  ///< that a reader opens, relative to it
};

std::string escaped(std::string_view text) {
  TextBuffer out;
  out.xml(text);
  return std::move(out).take();
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (!is_hidden(each->path()) && !each->is_symlink(ignored)) entries.push_back(each->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_trace(const std::string& name) {
  return name.ends_with("trace.json") || name.ends_with("trace.json.gz");
}

/// Reports and viewers first, then traces, then pictures; 0: not shown.
int rank_of(const std::string& name) {
  if (name.ends_with(".html")) return 1;
  if (is_trace(name)) return 2;
  if (name.ends_with(".svg")) return 3;
  return 0;
}

std::vector<std::string> files_to_open(const fs::path& folder) {
  std::vector<std::string> files;
  const auto add = [&](const fs::path& file) {
    std::string name = file.lexically_relative(folder).generic_string();
    if (rank_of(name) > 0) files.push_back(std::move(name));
  };
  for (const fs::path& entry : entries_of(folder)) {
    if (!is_folder(entry)) {
      add(entry);
      continue;
    }
    if (fs::exists(entry / manifest_file)) continue;
    for (const fs::path& inner : entries_of(entry)) {
      if (!is_folder(inner)) add(inner);
    }
  }
  std::ranges::stable_sort(files, {}, rank_of);
  return files;
}

FoundResult result_in(const fs::path& folder, const std::string& path) {
  FoundResult result{.path = path, .verb = {}, .state = {}, .files = files_to_open(folder)};
  try {
    const auto manifest = FolderManifest::of(folder);
    result.verb = manifest ? manifest->verb : "";
    result.state = manifest && !manifest->finished ? "unfinished" : "";
  } catch (const std::exception& error) {
    result.state = error.what();
  }
  return result;
}

void find_results(const fs::path& folder,
                  const std::string& path,
                  int depth,
                  std::vector<FoundResult>& results) {
  if (results.size() >= most_results || depth > deepest) return;
  std::error_code ignored;
  if (fs::exists(folder / manifest_file, ignored)) results.push_back(result_in(folder, path));
  for (const fs::path& entry : entries_of(folder)) {
    if (!is_folder(entry)) continue;
    const std::string name = entry.filename().string();
    find_results(entry, (fs::path{path} / name).generic_string(), depth + 1, results);
  }
}

std::string link(const std::string& target, const std::string& text) {
  return fmt::format("<a href=\"/{}\">{}</a>", percent_encoded(target), escaped(text));
}

std::string opener_of(const std::string& file) {
  return fmt::format(" <button data-trace=\"/{}\" disabled>open in Perfetto</button>",
                     percent_encoded(file));
}

std::string row_of(const FoundResult& result) {
  const std::string before = result.path.empty() ? "" : result.path + "/";
  std::string links;
  for (const std::string& file : result.files) {
    links += fmt::format(
        "<li>{}{}</li>", link(before + file, file), is_trace(file) ? opener_of(before + file) : "");
  }
  const std::string name = result.path.empty() ? "this folder" : result.path;
  return fmt::format("<tr><td>{}</td><td>{} {}</td><td><ul>{}</ul></td></tr>\n",
                     link(before, name),
                     escaped(result.verb),
                     escaped(result.state),
                     links);
}

/// All that is in one folder.
std::string listing_of(const fs::path& folder, const std::string& path) {
  std::string list;
  for (const fs::path& entry : entries_of(folder)) {
    const std::string name = entry.filename().string() + (is_folder(entry) ? "/" : "");
    list += fmt::format(
        "<li>{}{}</li>\n", link(path + name, name), is_trace(name) ? opener_of(path + name) : "");
  }
  return list;
}

constexpr std::string_view frame = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{0}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; }} td {{ vertical-align: top; padding: .3em 1em .3em 0; border-top: 1px solid #ddd; }}
ul {{ margin: 0; padding-left: 1.2em; }} #said {{ color: #a33; }}
</style></head><body><h1>{0}</h1>
<p id="said" role="status"></p>
{1}
<p>Perfetto's page is opened from the network, with a click alone, and gets the trace from this page; the trace is not
uploaded. Without a network open timeline.html or timeline.svg.</p>
<script src="{2}"></script></body></html>
)";

}  // namespace

std::string ServedFolder::page(const std::string& path) const {
  const fs::path folder = root_ / path;
  std::vector<FoundResult> results;
  std::string bare = path;
  if (!bare.empty()) bare.pop_back();
  find_results(folder, bare, 0, results);
  std::string rows;
  for (const FoundResult& result : results) rows += row_of(result);
  std::string body =
      rows.empty() ? "<p>No results here.</p>" : fmt::format("<table>\n{}</table>", rows);
  if (results.size() >= most_results) body += "<p>There are more.</p>";
  body += fmt::format("<h2>Files</h2><ul>\n{}</ul>", listing_of(folder, path));
  const std::string title = path.empty() ? "Results" : path;
  return fmt::format(fmt::runtime(frame), escaped(title), body, script_path);
}

// Perfetto's protocol (perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui): PING until the
// page answers PONG, then the bytes.
std::string_view trace_script() {
  return R"('use strict';
const perfetto = 'https://ui.perfetto.dev';
const said = document.getElementById('said');
function open_trace(path) {
  const page = window.open(perfetto);
  if (!page) { said.textContent = 'The browser does not allow a new window for this page.'; return; }
  said.textContent = '';
  const trace = fetch(path).then((answer) => {
    if (!answer.ok) throw new Error(path + ': ' + answer.status);
    return answer.arrayBuffer();
  });
  const timer = setInterval(() => page.postMessage('PING', perfetto), 100);
  const late = setTimeout(() => {
    stop();
    said.textContent = 'Perfetto does not answer: is there a network? timeline.html shows the run without one.';
  }, 30000);
  function stop() {
    clearInterval(timer);
    clearTimeout(late);
    window.removeEventListener('message', heard);
  }
  function heard(message) {
    if (message.origin !== perfetto || message.source !== page || message.data !== 'PONG') return;
    stop();
    trace.then((buffer) => {
      const title = decodeURIComponent(path.slice(1));
      page.postMessage({perfetto: {buffer, title, fileName: title.split('/').pop()}}, perfetto);
    }).catch((error) => { said.textContent = String(error); });
  }
  window.addEventListener('message', heard);
}
for (const button of document.querySelectorAll('button[data-trace]')) {
  button.disabled = false;
  button.addEventListener('click', () => open_trace(button.dataset.trace));
}
)";
}

}  // namespace schedlab
