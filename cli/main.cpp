// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt_watch.hpp"
#include "cli/program.hpp"
#include "sim/base/error.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/terminal.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <system_error>

namespace {

using namespace schedlab;  // NOLINT(google-build-using-namespace): the program's own file

using Action = std::function<int()>;

/// Has all that was printed reached its place?
int code_after_output(int code, std::ostream& out) {
  errno = 0;
  out.flush();
  std::cout.flush();
  if (out && std::cout) return code;
  std::cerr << "error: standard output: cannot be written";
  if (errno != 0) std::cerr << ": " << std::generic_category().message(errno);
  std::cerr << '\n';
  return code == exit_done ? exit_failed : code;
}

int run_guarded(const Action& action) {
  try {
    return action();
  } catch (const InputError& error) {
    std::cerr << "error: " << printable(error.what()) << '\n';
    return exit_usage;
  } catch (const ContractViolation& error) {
    std::cerr << "error: " << printable(error.what())
              << "\n  this is a bug in schedlab or in a policy\n";
    return exit_failed;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory on this computer\n  try fewer tasks, or fewer jobs (-j)\n";
    return exit_failed;
  } catch (const std::exception& error) {
    std::cerr << "error: " << printable(error.what()) << '\n';
    return exit_failed;
  }
}

int run_program(int argc, char** argv) {
  static StopFlag stop{false};  // a signal may come as late as the process lives
  static std::atomic<int> from{0};
  catch_interrupts(stop, from);
  Leftovers leftovers;
  PrintableBuffer printable_output(*std::cout.rdbuf());
  std::ostream out(&printable_output);
  const Terminal terminal{
      out, std::cerr, ::isatty(STDERR_FILENO) == 1, &stop, &std::cout, &leftovers, &from};
  Program program;
  Program::Chosen chosen;
  try {
    chosen = program.choose({argv + 1, argv + argc});
  } catch (const UsageError& error) {
    std::cerr << error.what();
    return exit_usage;
  }
  const Action action = [&] {
    std::optional<InterruptWatch> watch;
    if (!chosen.keeps) watch.emplace(leftovers, [] { ::_exit(exit_failed); });
    return chosen.run(terminal);
  };
  if (!chosen.run) std::cout << chosen.text;
  return code_after_output(chosen.run ? run_guarded(action) : exit_done, out);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // writing beyond a limit of the shell then fails with a message
  try {
    return run_program(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return exit_failed;
  }
}
