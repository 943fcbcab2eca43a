// SPDX-License-Identifier: Apache-2.0
#include "studies/training/mpi_launch.hpp"

#include "notebooks_export/raster.hpp"
#include "real_exec/ranks/mpi_link.hpp"
#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <regex>

namespace schedlab {
namespace {

constexpr int poll_ms = 200;  // how long a request to stop waits

/// mpirun with its error output in a pipe.
class MpirunProcess {
 public:
  explicit MpirunProcess(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw DeviceError("no pipe for mpirun");
    read_end_ = ends[0];
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command) {
      argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT(*-const-cast): POSIX
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int failed = posix_spawn(&child_, argv.front(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
      close(read_end_);
      throw InfeasibleError(fmt::format("cannot start {}", command.front()));
    }
  }
  MpirunProcess(const MpirunProcess&) = delete;
  MpirunProcess& operator=(const MpirunProcess&) = delete;
  ~MpirunProcess() { close(read_end_); }

  /// Calls `visit` with every line until there are no more.
  template <class Visitor>
  void read_lines(const StopFlag* stop, const Visitor& visit) {
    std::string rest;
    std::array<char, 4096> buffer{};
    bool told = false;
    for (;;) {
      if (stop_requested(stop) && !told) {
        kill(child_, SIGTERM);
        told = true;
      }
      pollfd waiting{.fd = read_end_, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, poll_ms) <= 0) continue;
      const ssize_t got = read(read_end_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      rest.append(buffer.data(), static_cast<std::size_t>(got));
      for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
        visit(rest.substr(0, end));
        rest.erase(0, end + 1);
      }
    }
    if (!rest.empty()) visit(rest);
  }

  /// The exit status as a shell gives it.
  [[nodiscard]] int wait() const {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) {
      if (errno != EINTR) return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = 0;
  int read_end_ = -1;
};

std::vector<std::string> mpirun_command(std::uint32_t ranks,
                                        const std::vector<std::string>& arguments) {
  const std::filesystem::path mpirun = find_program("mpirun");
  if (mpirun.empty()) {
    throw InfeasibleError("mpirun was not found in PATH\n  install it (Debian: openmpi-bin)");
  }
  std::vector<std::string> command{mpirun.string(),
                                   "--allow-run-as-root",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "plm",
                                   "isolated",
                                   "--mca",
                                   "mpi_yield_when_idle",
                                   "1",
                                   "-n",
                                   fmt::format("{}", ranks),
                                   std::filesystem::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

bool MpirunMessages::take(const std::string& line) {
  if (line.size() > 20 && line.find_first_not_of('-') == std::string::npos) {
    in_paragraph_ = !in_paragraph_;
    if (in_paragraph_) paragraphs_.emplace_back();
    return false;
  }
  if (in_paragraph_) {
    if (!line.empty()) paragraphs_.back() += (paragraphs_.back().empty() ? "" : " ") + line;
    return false;
  }
  if (line.find("ORTE_ERROR_LOG") != std::string::npos) return false;  // about its own paragraphs
  if (line.starts_with("error:")) program_said_ = true;
  return true;
}

std::string MpirunMessages::cause() const {
  static const std::regex signalled(
      R"(process rank (\d+) with PID \d+ on node \S+ exited on signal (\d+)( \(([^)]*)\))?)");
  static const std::regex left(R"(process rank (\d+) with PID \d+ on node \S+ exiting improperly)");
  for (const std::string& paragraph : paragraphs_) {
    std::smatch match;
    if (std::regex_search(paragraph, match, signalled)) {
      return fmt::format("rank {} was ended by signal {}{}",
                         match[1].str(),
                         match[2].str(),
                         match[3].matched ? " (" + match[4].str() + ")" : "");
    }
    if (std::regex_search(paragraph, match, left)) {
      return fmt::format("rank {} ended before the others", match[1].str());
    }
  }
  return {};
}

int run_on_ranks(std::uint32_t ranks,
                 const std::vector<std::string>& arguments,
                 const Terminal& terminal) {
  if (!has_mpi()) static_cast<void>(open_mpi());  // throws: says what is missing
  MpirunProcess mpirun(mpirun_command(ranks, arguments));
  MpirunMessages messages;
  mpirun.read_lines(terminal.stop, [&](const std::string& line) {
    if (messages.take(line)) terminal.err << line << '\n' << std::flush;
  });
  const int status = mpirun.wait();
  if (status == 0) return exit_done;
  if (stop_requested(terminal.stop)) {
    terminal.err << "error: the run was stopped\n";
  } else if (const std::string cause = messages.cause(); !cause.empty()) {
    terminal.err << "error: " << cause << "; the other ranks were stopped\n";
  } else if (!messages.program_said()) {
    terminal.err << fmt::format("error: mpirun failed with status {}\n", status);
    for (const std::string& paragraph : messages.paragraphs()) {
      terminal.err << "  " << paragraph << '\n';
    }
  }
  return exit_failed;
}

}  // namespace schedlab
