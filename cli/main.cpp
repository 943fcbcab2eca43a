// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_baseline.hpp"
#include "cli/cmd_buckets.hpp"
#include "cli/cmd_calibrate.hpp"
#include "cli/cmd_execute.hpp"
#include "cli/cmd_explain.hpp"
#include "cli/cmd_export.hpp"
#include "cli/cmd_graph.hpp"
#include "cli/cmd_import.hpp"
#include "cli/cmd_list.hpp"
#include "cli/cmd_partition.hpp"
#include "cli/cmd_plot.hpp"
#include "cli/cmd_reference.hpp"
#include "cli/cmd_replay.hpp"
#include "cli/cmd_reproduce.hpp"
#include "cli/cmd_schema.hpp"
#include "cli/cmd_search.hpp"
#include "cli/cmd_simulate.hpp"
#include "cli/cmd_sweep.hpp"
#include "cli/cmd_validate.hpp"
#include "cli/interrupt_watch.hpp"
#include "cli/reference/command_pages.hpp"
#include "cli/reference/usage_message.hpp"
#include "sim/base/error.hpp"
#include "studies/base/printable.hpp"
#include "studies/base/terminal.hpp"
#include "studies/base/version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <system_error>

namespace {

using namespace schedlab;  // NOLINT(google-build-using-namespace): the program's own file

/// A verb's options with what runs them.
struct Verbs {
  GraphOptions graph;
  ImportOptions import_files;
  CalibrateOptions calibrate;
  SimulateOptions simulate;
  SearchVerbOptions search;
  SweepOptions sweep;
  ExecuteOptions execute;
  ValidateOptions validate;
  BaselineOptions baseline;
  BucketsOptions buckets;
  PartitionOptions partition;
  ExplainOptions explain;
  ReplayOptions replay;
  ReproduceOptions reproduce;
  PlotOptions plot;
  ExportOptions export_files;
  SchemaOptions schema;
  ListOptions list;
  ReferenceOptions reference;
};

using Action = std::function<int()>;

/// What an interrupt does to a verb.
enum class Interrupt : std::uint8_t {
  keeps,  ///< it ends by itself, and keeps what it has done
  ends    ///< it has nothing to keep
};

template <class Options>
void add_verb(CLI::App& app,
              Options& options,
              const Terminal& terminal,
              Action& chosen,
              Interrupt interrupt = Interrupt::ends) {
  add_to(app, options)->callback([&, interrupt] {
    chosen = [&, interrupt] {
      std::optional<InterruptWatch> watch;
      if (interrupt == Interrupt::ends) {
        watch.emplace(*terminal.leftovers, [] { ::_exit(exit_failed); });
      }
      return run(options, terminal);
    };
  });
}

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
  catch_interrupts(stop);
  Leftovers leftovers;
  PrintableBuffer printable_output(*std::cout.rdbuf());
  std::ostream out(&printable_output);
  const Terminal terminal{
      out, std::cerr, ::isatty(STDERR_FILENO) == 1, &stop, &std::cout, &leftovers};
  CLI::App app("Which schedule of an operator graph is fastest on a device, by how much, and why");
  app.name("schedlab");
  app.set_version_flag("--version", std::string{program_version()});
  app.require_subcommand(1);
  Verbs verbs;
  Action chosen;
  add_verb(app, verbs.graph, terminal, chosen);
  add_verb(app, verbs.import_files, terminal, chosen);
  add_verb(app, verbs.simulate, terminal, chosen);
  add_verb(app, verbs.search, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.sweep, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.execute, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.validate, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.baseline, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.buckets, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.partition, terminal, chosen);
  add_verb(app, verbs.explain, terminal, chosen);
  add_verb(app, verbs.replay, terminal, chosen);
  add_verb(app, verbs.reproduce, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.calibrate, terminal, chosen, Interrupt::keeps);
  add_verb(app, verbs.plot, terminal, chosen);
  add_verb(app, verbs.export_files, terminal, chosen);
  add_verb(app, verbs.schema, terminal, chosen);
  add_verb(app, verbs.list, terminal, chosen);
  add_verb(app, verbs.reference, terminal, chosen);
  add_examples(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help or version were asked for
      static_cast<void>(app.exit(error));
      return code_after_output(exit_done, out);
    }
    std::cerr << usage_message(verb_facts(app), {argv + 1, argv + argc}, error.what());
    return exit_usage;
  }
  return code_after_output(run_guarded(chosen), out);
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
