// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/reproduce_verb.hpp"

#include "sim/base/file.hpp"
#include "studies/base/progress.hpp"
#include "studies/base/version.hpp"
#include "studies/reproduction/reproduction.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/reproduction/reproduction_pictures.hpp"
#include "studies/reproduction/systems_report.hpp"
#include "studies/scenario/run_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

Reproduction run_with_progress(const PublishedSystem& system,
                               const ReproductionRequest& request,
                               OutputFolder& folder,
                               const Terminal& terminal) {
  std::optional<Progress> progress;
  Reproduction result = reproduce(
      system, request, folder, terminal.stop, [&](std::uint64_t done, std::uint64_t total) {
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

std::string status_names(const Reproduction& result) {
  std::vector<std::string> words;
  for (const std::string& word : enum_names<ClaimStatus>()) {
    const std::size_t count = result.count(enum_value<ClaimStatus>(word));
    if (count > 0) words.push_back(fmt::format("{} {}", count, word));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

nlohmann::ordered_json summary_json(const Reproduction& result,
                                    const RunFiles& files,
                                    const std::filesystem::path& out) {
  nlohmann::ordered_json summary{{"system", result.system->name},
                                 {"out", out.string()},
                                 {"files", files.files},
                                 {"interrupted", result.interrupted}};
  for (const std::string& word : enum_names<ClaimStatus>()) {
    summary[word] = result.count(enum_value<ClaimStatus>(word));
  }
  return summary;
}

void print_notes(const Reproduction& result, const RunFiles& files, const Terminal& terminal) {
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
}

void print_stopped(const ReproduceOptions& options,
                   const std::string& out,
                   const Terminal& terminal) {
  terminal.err << fmt::format(
      "stopped; what is finished is kept\n  go on with: schedlab reproduce --system {} --out {} "
      "--resume{}\n",
      options.system,
      out,
      options.quick ? " --quick" : "");
}

ReproductionRequest request_of(const ReproduceOptions& options, const std::filesystem::path& out) {
  return {.out = out,
          .jobs = options.jobs,
          .quick = options.quick,
          .resume = options.resume,
          .overwrite = options.overwrite,
          .check = !options.no_check};
}

int run_one_system(const ReproduceOptions& options, const Terminal& terminal) {
  const PublishedSystem system = load_system(options.system);
  const std::string out = options.out.empty() ? "reproduction_" + system.name : options.out;
  const ReproductionRequest request = request_of(options, out);
  OutputFolder folder(reproduction_folder(system, request), terminal.leftovers);
  const Reproduction result = run_with_progress(system, request, folder, terminal);
  const RunFiles files = write_files(result, folder.path());
  folder.publish(!result.interrupted);
  print_notes(result, files, terminal);
  if (result.interrupted) print_stopped(options, out, terminal);
  if (options.json) {
    nlohmann::ordered_json summary = summary_json(result, files, out);
    summary["verb"] = "reproduce";
    terminal.out << summary.dump(2) << '\n';
  } else {
    terminal.out << text_of(outcomes_table(result)) << '\n'
                 << status_names(result) << '\n'
                 << fmt::format("  {}: {}\n", out, fmt::join(files.files, ", "));
  }
  return result.interrupted ? exit_failed : exit_done;
}

/// All systems that ship, each in a folder of its own, and one report over them.
int run_all_systems(const ReproduceOptions& options, const Terminal& terminal) {
  const std::filesystem::path out = options.out.empty() ? "reproduction" : options.out;
  std::vector<PublishedSystem> systems;
  for (const std::string& name : system_names()) systems.push_back(load_system(name));
  // One folder over those of the systems: what it lets pass, they may go on with or begin.
  FolderRequest all = reproduction_folder({}, request_of(options, out));
  all.verb = "reproduce (all systems)";
  for (const PublishedSystem& system : systems) all.growing.push_back(system.name + "/");
  OutputFolder whole(std::move(all), terminal.leftovers);
  whole.begin();
  std::vector<Reproduction> results;
  nlohmann::ordered_json summaries = nlohmann::ordered_json::array();
  bool interrupted = false;
  for (const PublishedSystem& system : systems) {
    const std::filesystem::path place = out / system.name;
    ReproductionRequest request = request_of(options, place);
    request.overwrite = false;  // the folder over it is empty, or resumed
    OutputFolder folder(reproduction_folder(system, request), terminal.leftovers);
    Reproduction result = run_with_progress(system, request, folder, terminal);
    const RunFiles files = write_files(result, folder.path());
    folder.publish(!result.interrupted);
    print_notes(result, files, terminal);
    summaries.push_back(summary_json(result, files, place));
    if (!options.json) {
      terminal.out << fmt::format("{:<4} {}\n", system.name, status_names(result));
    }
    interrupted = result.interrupted;
    results.push_back(std::move(result));
    if (interrupted) break;
  }
  write_file_atomically(whole.path() / "reproduction.md", systems_markdown(results));
  write_file_atomically(whole.path() / "reproduction.csv", systems_csv(results));
  write_file_atomically(whole.path() / "report.html",
                        systems_html(results, fmt::format("schedlab {}", program_version())));
  whole.publish(!interrupted);
  if (interrupted) print_stopped(options, out.string(), terminal);
  const std::vector<std::string> files{"report.html", "reproduction.md", "reproduction.csv"};
  if (options.json) {
    const nlohmann::ordered_json summary{{"verb", "reproduce"},
                                         {"out", out.string()},
                                         {"files", files},
                                         {"interrupted", interrupted},
                                         {"systems", summaries}};
    terminal.out << summary.dump(2) << '\n';
  } else {
    terminal.out << fmt::format("  {}: {}\n", out.string(), fmt::join(files, ", "));
  }
  return interrupted ? exit_failed : exit_done;
}

}  // namespace

int run(const ReproduceOptions& options, const Terminal& terminal) {
  return options.system == all_systems ? run_all_systems(options, terminal)
                                       : run_one_system(options, terminal);
}

}  // namespace schedlab
