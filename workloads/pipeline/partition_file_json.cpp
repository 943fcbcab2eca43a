// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/partition_file_json.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::json;

class PartitionReader {
 public:
  PartitionReader(const std::string& path, const LayerGraph& graph) : path_(path), graph_(graph) {}

  PartitionFile read(std::int64_t accelerators) {
    const Json root = Json::parse(read_file(path_), nullptr, false);
    if (!root.is_object() || root.value("schedlab", Json{}) != "partition_results" ||
        !root.contains("rows") || !root.at("rows").is_array()) {
      refuse("", "no results of partition", "the file partition.json that the verb writes");
    }
    const std::size_t row = row_for(root.at("rows"), accelerators);
    try {
      return stages_of(root.at("rows").at(row).at("stages"), fmt::format("/rows/{}/stages", row));
    } catch (const Json::exception& error) {
      refuse(fmt::format("/rows/{}", row), error.what(), "a row as the verb partition writes it");
    }
  }

 private:
  [[noreturn]] void refuse(std::string pointer,
                           std::string found,
                           std::string expected,
                           std::string hint = {}) const {
    throw InputError({.file = path_,
                      .pointer = std::move(pointer),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  }

  [[nodiscard]] std::size_t row_for(const Json& rows, std::int64_t accelerators) const {
    std::vector<std::int64_t> all;
    for (const Json& row : rows) {
      all.push_back(row.is_object() ? row.value("accelerators", std::int64_t{0}) : 0);
      if (accelerators > 0 && all.back() == accelerators) return all.size() - 1;
    }
    if (all.size() == 1 && accelerators == 0) return 0;
    refuse("/rows",
           fmt::format("rows for {} accelerators", fmt::join(all, ", ")),
           accelerators == 0 ? "one row" : fmt::format("one for {}", accelerators),
           "partition_accelerators says which row is taken");
  }

  [[nodiscard]] PartitionFile stages_of(const Json& stages, const std::string& at) const {
    constexpr std::uint32_t none = UINT32_MAX;
    std::map<std::string, LayerId> by_name;
    for (const LayerId id : graph_.layers.ids()) by_name.emplace(graph_.layers[id].name, id);
    PartitionFile file;
    file.stage_of = IdVector<LayerId, std::uint32_t>(graph_.layers.size(), none);
    for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
      const auto replicas = stages.at(stage).at("replicas").get<std::uint32_t>();
      if (stage == 0) file.replicas = replicas;
      if (replicas != file.replicas) {
        refuse(
            fmt::format("{}/{}/replicas", at, stage),
            fmt::format("{}", replicas),
            fmt::format("{}, as of stage 0: schedules replicate all stages alike", file.replicas),
            "let partition find \"stages\": N with \"replicas\": R");
      }
      for (const Json& layer : stages.at(stage).at("layers")) {
        const auto found = by_name.find(layer.get<std::string>());
        if (found == by_name.end()) {
          refuse(fmt::format("{}/{}/layers", at, stage),
                 layer.dump(),
                 fmt::format("layers of this model, \"{}\"", graph_.name),
                 "is it the same model with the same options?");
        }
        file.stage_of[found->second] = stage;
      }
    }
    for (const LayerId id : graph_.layers.ids()) {
      if (file.stage_of[id] != none) continue;
      refuse(at,
             fmt::format("no stage of layer \"{}\"", graph_.layers[id].name),
             fmt::format("stages of all {} layers", graph_.layers.size()),
             "is it the same model with the same options?");
    }
    return file;
  }

  const std::string& path_;
  const LayerGraph& graph_;
};

}  // namespace

PartitionFile read_partition_file(const std::string& path,
                                  std::int64_t accelerators,
                                  const LayerGraph& graph) {
  return PartitionReader(path, graph).read(accelerators);
}

}  // namespace schedlab
