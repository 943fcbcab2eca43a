// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/raster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <vector>

namespace schedlab {

namespace {

namespace fs = std::filesystem;

/// Removes a file when it goes out of scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Runs a program without input or output. The exit status, or a negative errno.
[[nodiscard]] int run(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): POSIX
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -failed;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

fs::path find_program(std::string_view name) {
  const char* variable = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): it is never written
  std::string_view folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (folder.empty()) continue;
    fs::path candidate = fs::path{folder} / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

RasterResult convert_svg(std::string_view svg,
                         const fs::path& target,
                         RasterFormat format,
                         double zoom) {
  const fs::path program = find_program("rsvg-convert");
  if (program.empty()) {
    return {false,
            fmt::format("{} was not made: the program rsvg-convert was not found "
                        "(Debian package librsvg2-bin)",
                        target.filename().string())};
  }
  const std::string unique = fmt::format(".{}", getpid());
  const TemporaryFile source{target.string() + unique + ".svg"};
  const TemporaryFile made{target.string() + unique + ".tmp"};
  {
    std::ofstream out{source.path(), std::ios::binary};
    out.write(svg.data(), static_cast<std::streamsize>(svg.size()));
    out.close();
    if (!out) return {false, fmt::format("cannot write {}", source.path().string())};
  }
  std::vector<std::string> arguments{program.string(),
                                     "--unlimited",
                                     format == RasterFormat::png ? "--format=png" : "--format=pdf",
                                     "--output=" + made.path().string()};
  if (format == RasterFormat::png) arguments.push_back(fmt::format("--zoom={}", zoom));
  arguments.push_back(fs::absolute(source.path()).string());
  if (const int status = run(arguments); status != 0) {
    return {false,
            fmt::format("{} was not made: rsvg-convert failed with status {}",
                        target.filename().string(),
                        status)};
  }
  std::error_code error;
  fs::rename(made.path(), target, error);
  if (error) return {false, fmt::format("cannot write {}: {}", target.string(), error.message())};
  return {true, {}};
}

}  // namespace schedlab
