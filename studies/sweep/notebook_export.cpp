// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/notebook_export.hpp"

#include "notebooks_export/notebook.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/version.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// The file that tells what a folder is.
struct FolderMark {
  NotebookSubject subject;
  const char* file;
};
constexpr std::array folder_marks{FolderMark{NotebookSubject::sweep, results_database},
                                  FolderMark{NotebookSubject::validation, "validation.json"},
                                  FolderMark{NotebookSubject::recording, "recording.json"},
                                  FolderMark{NotebookSubject::run, "metrics.json"}};

/// Throws InputError.
FolderMark mark_of(const fs::path& folder, const fs::path& input) {
  for (const FolderMark& mark : folder_marks) {
    if (fs::exists(folder / mark.file)) return mark;
  }
  const bool exists = fs::exists(input);
  throw InputError({.file = input.string(),
                    .pointer = {},
                    .found = exists ? "no results that a notebook can be about" : "no such folder",
                    .expected = "the folder of a simulate, execute, sweep or validate, or a "
                                "recording of validate",
                    .hint = "buckets, explain and reproduce write a report.html; tables of "
                            "replay and partition are CSV files, and \"schedlab plot\" draws the "
                            "traces of replay"});
}

/// A text at the top of a JSON file; `otherwise` if there is none.
std::string text_in(const fs::path& file, const char* key, const std::string& otherwise) {
  const auto json = nlohmann::json::parse(read_file(file.string()), nullptr, false);
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : otherwise;
}

std::string title_of(const FolderMark& mark, const fs::path& folder) {
  std::string name = fs::weakly_canonical(folder).filename().string();
  switch (mark.subject) {
    case NotebookSubject::sweep: {
      const ResultsStore store = ResultsStore::open(folder / mark.file);
      return fmt::format("Sweep {}", store.header().name);
    }
    case NotebookSubject::validation:
      return fmt::format("Validation {}", text_in(folder / mark.file, "name", name));
    case NotebookSubject::recording:
      return fmt::format(
          "Recording {}",
          fs::exists(folder / "spec.json") ? text_in(folder / "spec.json", "name", name) : name);
    case NotebookSubject::run:
      return text_in(folder / mark.file, "title", name);
  }
  return name;
}

/// How the notebook finds the folder, with '/' on every system.
std::string seen_from(const fs::path& notebook, const fs::path& folder) {
  const fs::path here = fs::weakly_canonical(fs::absolute(notebook)).parent_path();
  return fs::weakly_canonical(fs::absolute(folder)).lexically_relative(here).generic_string();
}

/// Throws InputError if there is a notebook that is not as it was exported.
void expect_unedited(const fs::path& notebook, const std::string& text) {
  if (!fs::exists(notebook)) return;
  const fs::path folder = resolved(notebook).parent_path();
  const auto manifest = FolderManifest::of(folder);
  const std::string name = notebook.filename().string();
  if (manifest && manifest->is_untouched(folder, name)) return;
  if (file_digest(notebook) == text_digest(text)) return;
  throw InputError({.file = notebook.string(),
                    .pointer = {},
                    .found = "a notebook that was changed since it was exported",
                    .expected = "a name that is free",
                    .hint = "--out NAME writes another one, --overwrite replaces it"});
}

}  // namespace

fs::path export_notebook(const fs::path& input, const fs::path& out, bool overwrite) {
  const fs::path parent = input.has_parent_path() ? input.parent_path() : fs::path{"."};
  const fs::path folder = fs::is_regular_file(input) ? parent : input;
  const FolderMark mark = mark_of(folder, input);
  fs::path notebook = out.empty() ? folder / default_notebook : out;
  const std::string text =
      notebook_json({.subject = mark.subject,
                     .title = title_of(mark, folder),
                     .folder = seen_from(notebook, folder),
                     .program = fmt::format("schedlab {}", program_version())});
  if (!overwrite) expect_unedited(notebook, text);
  write_named_file(
      notebook, [&](const fs::path& file) { write_file_atomically(file, text); }, overwrite);
  return notebook;
}

}  // namespace schedlab
