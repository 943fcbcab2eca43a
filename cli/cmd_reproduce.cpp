// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_reproduce.hpp"

#include "cli/progress.hpp"
#include "cli/reproduce/reproduction.hpp"
#include "cli/reproduce/reproduction_files.hpp"
#include "cli/reproduce/reproduction_pictures.hpp"
#include "cli/run_files.hpp"
#include "cli/version.hpp"
#include "sim/base/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <ostream>
#include <string>

namespace schedlab {
namespace {

Reproduction run_with_progress(const PublishedSystem& system,
                               const ReproductionRequest& request,
                               const Terminal& terminal) {
  std::optional<Progress> progress;
  Reproduction result =
      reproduce(system, request, terminal.stop, [&](std::uint64_t done, std::uint64_t total) {
        // The first call says what an earlier run has left.
        if (!progress) progress.emplace(terminal, total, done);
        progress->update(done);
      });
  if (progress) progress->finish();
  return result;
}

RunFiles write_files(const Reproduction& result, const std::filesystem::path& out) {
  RunFiles files;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    write_file_atomically(out / name, bytes);
    files.files.push_back(name);
  };
  write("reproduction.json", reproduction_json(result));
  write("reproduction.csv", reproduction_csv(result));
  write("report.html", reproduction_html(result, fmt::format("schedlab {}", program_version())));
  write_picture(out, "numbers", numbers_picture(result), files);
  write_picture(out, "ranges", ranges_picture(result), files);
  return files;
}

std::string status_words(const Reproduction& result) {
  std::vector<std::string> words;
  for (const auto status : {ClaimStatus::within,
                            ClaimStatus::in_part,
                            ClaimStatus::missed,
                            ClaimStatus::not_run,
                            ClaimStatus::not_covered}) {
    const std::size_t count = result.count(status);
    if (count > 0) words.push_back(fmt::format("{} {}", count, to_string(status)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_summary(const Terminal& terminal,
                   const Reproduction& result,
                   const RunFiles& files,
                   const std::string& out) {
  nlohmann::ordered_json summary{{"verb", "reproduce"},
                                 {"system", result.system->name},
                                 {"out", out},
                                 {"files", files.files},
                                 {"interrupted", result.interrupted}};
  for (const auto status : {ClaimStatus::within,
                            ClaimStatus::in_part,
                            ClaimStatus::missed,
                            ClaimStatus::not_run,
                            ClaimStatus::not_covered}) {
    summary[std::string{to_string(status)}] = result.count(status);
  }
  terminal.out << summary.dump(2) << '\n';
}

}  // namespace

CLI::App* add_to(CLI::App& app, ReproduceOptions& options) {
  CLI::App* verb =
      app.add_subcommand("reproduce", "Hold a publication's numbers against simulations");
  verb->add_option("--system",
                   options.system,
                   fmt::format("Which one: {}, or the path of a system file",
                               fmt::join(system_names(), ", ")))
      ->required();
  verb->add_option("-o,--out", options.out, "Folder; reproduction_SYSTEM if left out");
  verb->add_option("-j,--jobs", options.jobs, "Threads; 0: one per core")->capture_default_str();
  verb->add_flag("--quick", options.quick, "Smaller grids: fewer values of what is left open");
  auto* resume = verb->add_flag("--resume", options.resume, "Go on with the results in the folder");
  verb->add_flag("--overwrite", options.overwrite, "Replace the results in the folder")
      ->excludes(resume);
  verb->add_flag("--no-check", options.no_check, "Do not verify plans with the plan checker");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes reproduction.json, reproduction.csv, report.html and the sweeps behind them. What a\n"
      "publication leaves open is an axis: each row shows all values it may stand for. A number\n"
      "that is missed is a result, not a failure.");
  return verb;
}

int run(const ReproduceOptions& options, const Terminal& terminal) {
  const PublishedSystem system = load_system(options.system);
  const std::string out = options.out.empty() ? "reproduction_" + system.name : options.out;
  const ReproductionRequest request{.out = out,
                                    .jobs = options.jobs,
                                    .quick = options.quick,
                                    .resume = options.resume,
                                    .overwrite = options.overwrite,
                                    .check = !options.no_check};
  const Reproduction result = run_with_progress(system, request, terminal);
  const RunFiles files = write_files(result, request.out);
  for (const GridResult& grid : result.grids) {
    if (grid.failed + grid.with_findings == 0) continue;
    terminal.err << fmt::format(
        "note: grid {}: {} scenarios cannot run and {} have plans with findings; they are left "
        "out\n"
        "  first: {}\n",
        grid.name,
        grid.failed,
        grid.with_findings,
        grid.first_note);
  }
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (result.interrupted) {
    terminal.err << fmt::format(
        "stopped; what is finished is kept\n  go on with: schedlab reproduce --system {} --out {} "
        "--resume{}\n",
        options.system,
        out,
        options.quick ? " --quick" : "");
  }
  if (options.json) {
    print_summary(terminal, result, files, out);
  } else {
    terminal.out << reproduction_text(result) << '\n'
                 << status_words(result) << '\n'
                 << fmt::format("  {}: {}\n", out, fmt::join(files.files, ", "));
  }
  return result.interrupted ? exit_failed : exit_done;
}

}  // namespace schedlab
