// SPDX-License-Identifier: Apache-2.0
#include "studies/sensitivity/sensitivity_verb.hpp"

#include "sim/base/file.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/progress.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <ostream>

namespace schedlab {
namespace {

std::string sensitivity_json(const Sensitivity& result) {
  nlohmann::ordered_json json{{"schedlab", "sensitivity"}, {"version", 1}};
  sensitivity_fields().add_to(json, result);
  return json.dump(2) + "\n";
}

}  // namespace

std::string sensitivity_schema() {
  return schema::file("SchedLab sensitivity", "sensitivity", sensitivity_fields().schema())
             .dump(2) +
         "\n";
}

int run(const SensitivityOptions& options, const Terminal& terminal) {
  const Spec spec = load_spec(options.spec, &terminal.err);
  std::optional<Progress> progress;
  const Sensitivity result = sensitivity(spec,
                                         {.step = options.step / 100,
                                          .range = options.range,
                                          .stop = terminal.stop,
                                          .observer = [&](std::uint64_t done, std::uint64_t of) {
                                            if (!progress)
                                              progress.emplace(terminal, of, 0, "numbers");
                                            progress->update(done);
                                          }});
  if (progress) progress->finish();
  const ReportDocument report = sensitivity_report(result);
  if (!options.out.empty()) {
    OutputFolder folder(whole_folder(options.out, "sensitivity", options.overwrite),
                        terminal.leftovers);
    write_file_atomically(folder.path() / "sensitivity.json", sensitivity_json(result));
    write_file_atomically(folder.path() / "report.html", html_of(report));
    folder.publish();
  }
  if (options.json) {
    terminal.out << sensitivity_json(result);
    return exit_done;
  }
  terminal.out << text_of(report);
  if (!options.out.empty()) {
    terminal.out << fmt::format("  {}: sensitivity.json, report.html\n", options.out);
  }
  return exit_done;
}

}  // namespace schedlab
