// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/run_origin.hpp"

#include "real_exec/cpu/host_placement.hpp"
#include "sim/base/file.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/schema_check.hpp"

#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using OriginJson = nlohmann::ordered_json;

}  // namespace

std::string run_origin_json(const RunOrigin& origin, const std::filesystem::path& folder) {
  // That of a spec in the current folder is empty, of which nothing can be made absolute.
  const std::filesystem::path here = std::filesystem::current_path();
  const auto from = std::filesystem::weakly_canonical(here / folder);
  const auto to = std::filesystem::weakly_canonical(here / origin.spec_folder);
  OriginJson json{{"schedlab", "run"},
                  {"version", 1},
                  {"verb", origin.verb},
                  {"spec_file", origin.spec_file},
                  {"spec_folder", to.lexically_relative(from).generic_string()}};
  if (!origin.host.empty()) {
    json["workers"] = origin.workers;
    json["host"] = origin.host;
  }
  json["spec"] = OriginJson::parse(origin.spec);
  return json.dump(2) + "\n";
}

std::optional<RunOrigin> read_run_origin(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / run_origin_name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::string text = read_file(path);
  read_checked_json(text, run_origin_schema(), path.string());
  const OriginJson json = OriginJson::parse(text);
  return RunOrigin{.verb = json.at("verb"),
                   .spec = json.at("spec").dump(2),
                   .spec_file = json.at("spec_file"),
                   .spec_folder = folder / std::string{json.at("spec_folder")},
                   .workers = json.value("workers", 0U),
                   .host = json.value("host", std::string{})};
}

std::string run_origin_schema() {
  const OriginJson text{{"type", "string"}};
  const OriginJson properties{{"verb", {{"type", "string"}, {"enum", {"simulate", "execute"}}}},
                              {"spec_file", text},
                              {"spec_folder", text},
                              {"workers", {{"type", "integer"}, {"minimum", 1}}},
                              {"host", {{"type", "string"}, {"enum", enum_names<HostPlacement>()}}},
                              {"spec", {{"type", "object"}}}};
  const OriginJson run = schema::object(properties, {"verb", "spec_file", "spec_folder", "spec"});
  return schema::file("SchedLab run", "run", run).dump(2);
}

}  // namespace schedlab
