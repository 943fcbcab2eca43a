// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_run.hpp"

#include "sim/base/error.hpp"
#include "sim/sweep/parallel_rows.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/version.hpp"
#include "studies/spec/input_digest.hpp"
#include "studies/sweep/like_for_like.hpp"
#include "studies/sweep/sweep_rows.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_scenarios = 1'000'000'000;

std::string sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
      return "INTEGER";
    case ColumnType::real:
      return "REAL";
    case ColumnType::text:
      return "TEXT";
  }
  return {};
}

std::vector<ResultsStore::Column> store_columns(const Grid& grid, const ResultLayout& layout) {
  std::vector<ResultsStore::Column> columns;
  for (const AxisColumn& axis : grid.axes()) {
    columns.push_back(
        {.name = axis.name, .sql_type = {}, .path = axis.path, .values = axis.values});
  }
  for (const ResultColumn& column : result_columns(layout)) {
    columns.push_back(
        {.name = column.name, .sql_type = sql_type(column.type), .path = {}, .values = 0});
  }
  return columns;
}

}  // namespace

std::vector<std::string> reserved_columns(const Spec& spec) {
  std::vector<std::string> reserved = result_column_names(spec.part(Part::variability) != nullptr);
  reserved.insert(reserved.end(), {"scenario", "speed_up", "speed_up_cut", "speed_up_order"});
  return reserved;
}

FolderRequest sweep_folder(const SweepRequest& request) {
  FolderUse use = request.overwrite ? FolderUse::overwrite : FolderUse::fresh;
  if (request.resume) use = FolderUse::resume;
  return {.target = request.out,
          .verb = "sweep",
          .use = use,
          .in_place = true,
          .growing = {results_database}};
}

ResultsHeader results_header(const Spec& spec, const Grid& grid, const Shard& shard) {
  std::vector<std::string> names;
  for (const ResultsStore::Column& column :
       store_columns(grid, result_layout(Components(spec, grid), grid))) {
    names.push_back(column.name);
  }
  return {.spec = spec.text,
          .inputs = input_digest(spec),
          .version = std::string{program_version()},
          .name = spec.name,
          .scenarios = grid.size(),
          .shard = shard.count == 1 ? "" : shard.name(),
          .columns = std::move(names)};
}

ResultsStore open_results(const Spec& spec,
                          const Grid& grid,
                          OutputFolder& folder,
                          const Shard& shard) {
  const fs::path file = folder.target() / results_database;
  const bool resume = folder.resumes() && fs::exists(file);
  std::optional<ResultsStore> store;
  if (resume) store.emplace(open_results(spec, grid, file, true, shard));  // may refuse: first
  folder.begin();
  return resume ? std::move(*store) : open_results(spec, grid, file, false, shard);
}

ResultsStore open_results(
    const Spec& spec, const Grid& grid, const fs::path& file, bool resume, const Shard& shard) {
  if (grid.size() > max_scenarios) {
    throw InputError({.file = spec.file,
                      .pointer = {},
                      .found = fmt::format("{} scenarios", grid.size()),
                      .expected = "at most 10^9 in one sweep",
                      .hint = "split the spec"});
  }
  const ResultsHeader header = results_header(spec, grid, shard);
  if (resume) return ResultsStore::resume(file, header);
  const ResultLayout layout = result_layout(Components(spec, grid), grid);
  return ResultsStore::create(file, header, store_columns(grid, layout), layout.sampled);
}

std::vector<bool> not_to_run(const ResultsStore& store, const Shard& shard, SweepCounts& counts) {
  std::vector<bool> done = store.done();
  for (std::uint64_t i = 0; i < done.size(); ++i) {
    if (!shard.has(i, done.size())) {
      done[i] = true;
      continue;
    }
    ++counts.scenarios;
    if (done[i]) ++counts.kept;
  }
  return done;
}

SweepCounts run_scenarios(ScenarioSpace& space,
                          ResultsStore& store,
                          const SweepRequest& request,
                          const StopFlag* stop,
                          const SweepObserver& observer) {
  const auto started = std::chrono::steady_clock::now();
  SweepCounts counts;
  const std::vector<bool> done = not_to_run(store, request.shard, counts);

  RowMaker maker(space, done, request.check, stop, worker_count(request.jobs));
  const RowWork work = [&](RowRange range, unsigned worker) -> Commit {
    auto rows = std::make_shared<std::vector<FinishedRow>>(maker.make(range, worker));
    return [&, rows] {
      for (const FinishedRow& row : *rows) row.add_to(store);
      store.commit_if_due();
      counts.ran += rows->size();
      if (observer) observer(counts.kept + counts.ran);
    };
  };
  try {
    parallel_rows(space.grid().size(), request.jobs, stop, work);
  } catch (...) {
    store.save_what_is_there();  // what is done is kept whatever happened
    throw;
  }
  store.flush();
  counts.interrupted = counts.kept + counts.ran < counts.scenarios;
  counts.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return counts;
}

}  // namespace schedlab
