// SPDX-License-Identifier: Apache-2.0
// The states of a folder of results (absent, empty, foreign, ours and unfinished, ours and
// finished, locked), and a process that is killed at every step between them.
#include "studies/base/output_folder.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

using Names = std::set<std::string>;

Names names_in(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

/// A run as verbs do it whose folder appears when it is complete: two files that say `text`.
void whole_run(const fs::path& target,
               FolderUse use,
               const std::string& text,
               const FolderObserver& observer = {}) {
  OutputFolder folder({.target = target, .verb = "test", .use = use}, nullptr, observer);
  write_file_atomically(folder.path() / "a.json", text);
  make_folder(folder.path() / "plots");
  write_file_atomically(folder.path() / "plots" / "b.svg", text);
  folder.publish();
}

/// And one that fills in place: "rows" grows by a letter, the rest comes at the end.
void growing_run(const fs::path& target,
                 FolderUse use,
                 const std::string& text,
                 const FolderObserver& observer = {}) {
  OutputFolder folder(
      {.target = target, .verb = "test", .use = use, .in_place = true, .growing = {"rows"}},
      nullptr,
      observer);
  folder.begin();
  const fs::path rows = folder.target() / "rows";
  const std::string before = folder.resumes() && fs::exists(rows) ? read_file(rows) : "";
  write_file_atomically(rows, before + "x");
  if (observer) observer("grown");
  make_folder(folder.path() / "plots");
  write_file_atomically(folder.path() / "plots" / "b.svg", text);
  write_file_atomically(folder.path() / "a.json", text);
  folder.publish();
}

/// `run` in a process of its own that kills itself at the step of this number, from 0. False: it
/// has fewer.
bool killed_at(int step, const std::function<void(const FolderObserver&)>& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    int steps = 0;
    run([&](std::string_view) {
      if (steps++ == step) ::raise(SIGKILL);
    });
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    REQUIRE(WTERMSIG(status) == SIGKILL);
    return true;
  }
  REQUIRE(WEXITSTATUS(status) == 0);
  return false;
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

void expect_complete(const fs::path& target, const std::string& text) {
  CHECK(folder_state(target) == FolderState::finished);
  CHECK(read_file(target / "a.json") == text);
  CHECK(read_file(target / "plots" / "b.svg") == text);
  CHECK(strangers(target).empty());
  // Beside it and in it: nothing else.
  CHECK(names_in(target.parent_path()) == Names{target.filename()});
  CHECK_FALSE(fs::exists(target / inner_staging));
}

TEST_CASE("a folder that appears whole is the old one or the new one wherever its run is killed") {
  int steps = 0;
  for (const bool replaces : {false, true}) {
    CAPTURE(replaces);
    for (int step = 0;; ++step) {
      CAPTURE(step);
      const TemporaryFolder parent;
      const fs::path target = parent.path() / "out";
      if (replaces) whole_run(target, FolderUse::fresh, "old");
      const auto run = [&](const FolderObserver& observer) {
        whole_run(target, replaces ? FolderUse::overwrite : FolderUse::fresh, "new", observer);
      };
      if (!killed_at(step, run)) break;
      ++steps;
      if (replaces) REQUIRE(fs::exists(target));
      if (fs::exists(target)) {
        const std::string text = read_file(target / "a.json");
        CHECK((text == "new" || (replaces && text == "old")));
        CHECK(read_file(target / "plots" / "b.svg") == text);
        CHECK(folder_state(target) == FolderState::finished);
      }
      whole_run(target, FolderUse::overwrite, "again");
      expect_complete(target, "again");
    }
  }
  CHECK(steps >= 10);
}

TEST_CASE(
    "a folder that fills in place can be resumed and overwritten wherever its run is killed") {
  int steps = 0;
  for (const FolderUse use : {FolderUse::fresh, FolderUse::overwrite, FolderUse::resume}) {
    CAPTURE(static_cast<int>(use));
    for (int step = 0;; ++step) {
      CAPTURE(step);
      const TemporaryFolder parent;
      const fs::path target = parent.path() / "1" / "out";
      if (use != FolderUse::fresh) growing_run(target, FolderUse::fresh, "old");
      const auto run = [&](const FolderObserver& observer) {
        growing_run(target, use, "new", observer);
      };
      if (!killed_at(step, run)) break;
      ++steps;
      CHECK(folder_state(target) != FolderState::foreign);
      // A listed file is as it was written, before and after.
      if (fs::exists(target)) CHECK(strangers(target).empty());
      const fs::path other = parent.path() / "2" / "out";
      fs::copy(parent.path() / "1", parent.path() / "2", fs::copy_options::recursive);
      growing_run(target, FolderUse::resume, "resumed");
      expect_complete(target, "resumed");
      growing_run(other, FolderUse::overwrite, "overwritten");
      expect_complete(other, "overwritten");
      CHECK(read_file(other / "rows") == "x");
    }
  }
  CHECK(steps >= 25);
}

TEST_CASE("what somebody else has put into a folder outlives every run of it") {
  for (int step = 0;; ++step) {
    CAPTURE(step);
    const TemporaryFolder parent;
    const fs::path target = parent.path() / "out";
    growing_run(target, FolderUse::fresh, "old");
    write_file_atomically(target / "notes.txt", "mine");
    make_folder(target / "thesis");
    write_file_atomically(target / "thesis" / "chapter.tex", "mine");
    const bool killed = killed_at(step, [&](const FolderObserver& observer) {
      growing_run(target, FolderUse::resume, "new", observer);
    });
    CHECK(read_file(target / "notes.txt") == "mine");
    CHECK(read_file(target / "thesis" / "chapter.tex") == "mine");
    CHECK(error_of([&] {
            growing_run(target, FolderUse::overwrite, "new");
          }).find("found notes.txt, thesis/, expected nothing but") != std::string::npos);
    CHECK(read_file(target / "thesis" / "chapter.tex") == "mine");
    if (!killed) break;
  }
}

TEST_CASE("a file that was changed since it was written is neither removed nor replaced") {
  const TemporaryFolder parent;
  const fs::path target = parent.path() / "out";
  whole_run(target, FolderUse::fresh, "old");
  write_file_atomically(target / "plots" / "b.svg", "olD");
  CHECK(error_of([&] { whole_run(target, FolderUse::overwrite, "new"); }) ==
        target.string() +
            ": found plots/b.svg (changed since it was written), expected nothing but what "
            "schedlab has written there\n  move it elsewhere, or use another --out");
  const fs::path growing = parent.path() / "growing";
  growing_run(growing, FolderUse::fresh, "old");
  write_file_atomically(growing / "a.json", "edited");
  CHECK(error_of([&] {
          growing_run(growing, FolderUse::resume, "new");
        }).find("found a file that was changed since it was written") != std::string::npos);
  CHECK(read_file(growing / "a.json") == "edited");
  fs::remove(growing / "a.json");
  growing_run(growing, FolderUse::resume, "new");
  CHECK(read_file(growing / "rows") == "xxx");  // what failed has kept its row
}

TEST_CASE("of each state a verb says what can be done with it") {
  const TemporaryFolder parent;
  const fs::path out = parent.path() / "out";
  const auto fresh = [&] { return error_of([&] { growing_run(out, FolderUse::fresh, "a"); }); };
  const auto over = [&] { return error_of([&] { growing_run(out, FolderUse::overwrite, "a"); }); };
  const auto resume = [&] { return error_of([&] { growing_run(out, FolderUse::resume, "a"); }); };
  CHECK(folder_state(out) == FolderState::absent);
  make_folder(out);
  CHECK(folder_state(out) == FolderState::empty);
  CHECK(fresh() == "no error");
  CHECK(folder_state(out) == FolderState::finished);
  CHECK(fresh().find("--resume goes on with it, --overwrite starts again") != std::string::npos);
  CHECK(resume() == "no error");
  CHECK(over() == "no error");
  fs::remove(out / manifest_file);
  CHECK(folder_state(out) == FolderState::foreign);
  for (const auto& use : {fresh(), over(), resume()}) {
    CHECK(use.find("found a folder that schedlab has not made") != std::string::npos);
  }
  fs::remove_all(out);
  whole_run(out, FolderUse::fresh, "a");
  CHECK(error_of([&] { whole_run(out, FolderUse::fresh, "b"); }).find("--overwrite replaces it") !=
        std::string::npos);
  const auto other = [&] { const OutputFolder folder(whole_folder(out, "other", true)); };
  CHECK(error_of(other).find("found a folder that schedlab test has made") != std::string::npos);
  fs::remove_all(out);
  write_file_atomically(out, "a file");
  CHECK(over().find("found a file, expected a folder") != std::string::npos);
}

TEST_CASE("one process at a time writes a folder, under whatever name") {
  const TemporaryFolder parent;
  const fs::path target = parent.path() / "out";
  make_folder(target);
  fs::create_directory_symlink(target, parent.path() / "link");
  {
    const OutputFolder held({.target = target, .verb = "test"});
    const std::string process = std::to_string(::getpid());
    for (const fs::path& name :
         {target, target / "", parent.path() / "." / "out", parent.path() / "link"}) {
      CAPTURE(name.string());
      CHECK(error_of([&] {
              whole_run(name, FolderUse::overwrite, "new");
            }).find("found a folder that another schedlab is writing (process " + process) !=
            std::string::npos);
    }
    whole_run(parent.path() / "other", FolderUse::fresh, "new");
  }
  // The lock of a process that is gone is none.
  write_file_atomically(parent.path() / ".out.lock", "1");
  whole_run(target, FolderUse::fresh, "new");
  CHECK_FALSE(fs::exists(parent.path() / ".out.lock"));
  CHECK(read_file(target / "a.json") == "new");
}

TEST_CASE(
    "a file that a user names is listed where its folder is ours, and not replaced if edited") {
  const TemporaryFolder parent;
  const fs::path target = parent.path() / "out";
  whole_run(target, FolderUse::fresh, "old");
  const auto write = [&](const std::string& text, bool overwrite) {
    write_named_file(
        target / "map.svg",
        [&](const fs::path& file) { write_file_atomically(file, text); },
        overwrite);
  };
  write("one", false);
  write("two", false);
  CHECK(strangers(target).empty());
  write_file_atomically(target / "map.svg", "edited");
  CHECK(error_of([&] { write("three", false); }).find("found a file that was changed") !=
        std::string::npos);
  write("three", true);
  CHECK(read_file(target / "map.svg") == "three");
  whole_run(target, FolderUse::overwrite, "new");
  expect_complete(target, "new");
}

TEST_CASE("what is left of a run that fails is kept where it replaces nothing") {
  const TemporaryFolder parent;
  const fs::path target = parent.path() / "out";
  {
    OutputFolder folder({.target = target, .verb = "test"});
    write_file_atomically(folder.path() / "part.json", "half");
    CHECK(folder.publish_remains());
  }
  CHECK(folder_state(target) == FolderState::unfinished);
  {
    OutputFolder folder(whole_folder(target, "test", true));
    write_file_atomically(folder.path() / "part.json", "less");
    CHECK_FALSE(folder.publish_remains());
  }
  CHECK(read_file(target / "part.json") == "half");
  whole_run(target, FolderUse::overwrite, "new");
  expect_complete(target, "new");
}

}  // namespace
}  // namespace schedlab
