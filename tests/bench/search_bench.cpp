// SPDX-License-Identifier: Apache-2.0
// The search for the best plan: how much of a set of graphs it solves, and how fast it evaluates.
//   search_bench --stg=FOLDER [--names=A,B] [--processors=2,4,8,16] [--every=N] [--seconds=S]
//                [--csv=FILE]
//     all .stg files of a folder or those of these names, each on so many equal streams, from
//     bottom_level, heft and peft
//   search_bench [--tasks=N]
//     evaluations a second on grids like a backward pass, by size and machine
// Every witness is checked, and no plan may be shorter than its bound.
#include "policies/plan_search.hpp"
#include "policies/registry.hpp"
#include "sim/base/file.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/formats/stg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::bench {
namespace {

struct Flags {
  std::string stg{};
  std::string csv{};
  std::string names{};
  std::vector<std::uint32_t> processors{2, 4, 8, 16};
  std::size_t every = 1;
  double seconds = 10;
  std::uint32_t tasks = 0;
};

PlanRun runs(const Problem& problem) {
  return [&problem, simulator = std::make_shared<Simulator>(), trace = Trace{}](
             const Plan& plan) mutable -> PlanOutcome {
    simulator->run_into(problem, plan, {}, trace);
    return {&trace, trace.makespan()};
  };
}

std::vector<ScoredPlan> starts_of(const Problem& problem,
                                  const PlanRun& run,
                                  std::int64_t streams) {
  std::vector<ScoredPlan> starts;
  for (const char* policy : {"bottom_level", "heft", "peft"}) {
    Plan plan = make_policy(policy, {{"max_streams", streams}})->plan(problem);
    const Duration makespan = run(plan).makespan;
    starts.push_back({std::move(plan), makespan});
  }
  std::stable_sort(starts.begin(), starts.end(), [](const ScoredPlan& a, const ScoredPlan& b) {
    return a.makespan < b.makespan;
  });
  return starts;
}

Duration checked_bound(const BoundProblem& on, Duration shortest) {
  const LadderOptions options{.energetic_work = 4'000'000,
                              .tightening_work = 200'000'000,
                              .refutation_work = 2'000'000'000,
                              .shortest = shortest};
  const auto ladder = bound_ladder(on, options);
  for (const BoundWitness& witness : ladder) {
    if (const auto wrong = refuse_witness(on, witness)) throw std::runtime_error(*wrong);
  }
  return largest(ladder).bound;
}

struct Row {
  Duration bound{0};
  Duration begun{0};
  Duration found{0};
  std::uint64_t evaluations = 0;
  double seconds = 0;
};

Row search_one(const testing::Scene& scene, std::uint32_t processors, double seconds) {
  const Problem problem = scene.problem();
  const PlanRun run = runs(problem);
  Row row;
  const double started = processor_seconds();
  const auto starts = starts_of(problem, run, processors);
  row.begun = starts.front().makespan;
  row.bound = checked_bound({.problem = problem, .plans = {.streams = processors}}, row.begun);
  PlanSearch search{
      problem, starts, run, {.seed = 1, .max_streams = processors, .target = row.bound}};
  row.seconds = processor_seconds() - started;
  constexpr std::uint64_t step = 500;
  while (!search.reached() && row.seconds < seconds) {
    search.advance(step);
    row.seconds = processor_seconds() - started;
  }
  row.found = search.best().makespan;
  row.evaluations = search.evaluations();
  if (row.found < row.bound) throw std::runtime_error("a plan is shorter than its bound");
  return row;
}

void search_set(const Flags& flags) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(flags.stg)) {
    const bool wanted = flags.names.empty() ||
                        ("," + flags.names + ",").find("," + entry.path().stem().string() + ",") !=
                            std::string::npos;
    if (wanted && entry.path().extension() == ".stg") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string csv = "file,processors,bound_us,begun_us,found_us,evaluations,seconds\n";
  for (const std::uint32_t processors : flags.processors) {
    int graphs = 0;
    int begun = 0;
    int proven = 0;
    double over = 0;
    double worst = 0;
    double seconds = 0;
    std::uint64_t evaluations = 0;
    for (std::size_t i = 0; i < files.size(); i += flags.every) {
      const testing::Scene scene{read_stg(read_file(files[i]), files[i].string())};
      const Row row = search_one(scene, processors, flags.seconds);
      ++graphs;
      begun += row.begun == row.bound ? 1 : 0;
      proven += row.found == row.bound ? 1 : 0;
      const double gap = to_us(row.found) / to_us(row.bound) - 1;
      over += gap;
      worst = std::max(worst, gap);
      seconds += row.seconds;
      evaluations += row.evaluations;
      csv += fmt::format("{},{},{},{},{},{},{:.3f}\n",
                         files[i].filename().string(),
                         processors,
                         to_us(row.bound),
                         to_us(row.begun),
                         to_us(row.found),
                         row.evaluations,
                         row.seconds);
    }
    fmt::print(
        "{:>3} processors  {} graphs  start optimal {:.1f} %  proven optimal {:.1f} %  over "
        "the bound {:.3f} % on average, {:.2f} % at most  {:.0f} evaluations/s\n",
        processors,
        graphs,
        100.0 * begun / graphs,
        100.0 * proven / graphs,
        100 * over / graphs,
        100 * worst,
        static_cast<double>(evaluations) / std::max(seconds, 1e-9));
    std::fflush(stdout);
  }
  if (!flags.csv.empty()) write_file_atomically(flags.csv, csv);
}

/// Blocks and bytes of a kernel that fills a part of the device.
class KernelCosts final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "kernel"; }
  [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
    Estimate e;
    e.duration = Duration{20'000'000};
    e.share = 0.1;
    e.bandwidth = Bandwidth{100e9};
    e.blocks = 16;
    e.compute_share = 0.8F;
    return e;
  }
};

void measure_rate(std::uint32_t tasks, const char* name, SharingModel sharing, bool units) {
  constexpr std::uint32_t layers = 10;
  const TaskGraph graph = testing::gradient_grid(layers, std::max(1U, tasks / layers));
  Platform platform = ideal_platform();
  platform.sharing = sharing;
  Device& device = platform.devices[DeviceId{0}];
  if (units) device.unit_class_of.fill(device.unit_classes.push_back({"sm", 21}));
  device.rates.memory = Bandwidth{900e9};
  device.stream_gap = Duration{1'000'000};
  device.event_latency = Duration{1'000'000};
  platform.hosts[HostId{0}].costs.launch = Duration{3'000'000};
  const CostTable costs{graph, platform, KernelCosts{}};
  const Problem problem{graph, platform, costs};
  const PlanRun run = runs(problem);
  const auto starts = starts_of(problem, run, 4);
  const Duration bound = checked_bound({.problem = problem}, starts.front().makespan);
  PlanSearch search{problem, starts, run, {.seed = 1, .target = bound}};
  const double started = processor_seconds();
  constexpr std::uint64_t tasks_to_simulate = 4'000'000;
  search.advance(std::max<std::uint64_t>(20, tasks_to_simulate / (tasks * 10)));
  const double seconds = processor_seconds() - started;
  fmt::print("{:>10}  {:>7} tasks  {:>9.0f} evaluations/s  {:>6.0f} ns a task\n",
             name,
             graph.task_count(),
             static_cast<double>(search.evaluations()) / seconds,
             1e9 * seconds / static_cast<double>(search.evaluations() * graph.task_count()));
}

void measure_rates(std::uint32_t only) {
  for (const std::uint32_t tasks : {50U, 500U, 5'000U, 50'000U}) {
    if (only != 0 && tasks != only) continue;
    measure_rate(tasks, "unlimited", SharingModel::exclusive, false);
    measure_rate(tasks, "exclusive", SharingModel::exclusive, true);
    measure_rate(tasks, "fluid", SharingModel::fluid, true);
    measure_rate(tasks, "blocks", SharingModel::blocks, true);
  }
}

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::vector<std::uint32_t> values;
  std::istringstream in{text};
  for (std::string word; std::getline(in, word, ',');) {
    values.push_back(static_cast<std::uint32_t>(std::stoul(word)));
  }
  return values;
}

Flags read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&](std::string_view name) { return std::string{flag.substr(name.size())}; };
    if (flag.starts_with("--stg=")) {
      flags.stg = value("--stg=");
    } else if (flag.starts_with("--names=")) {
      flags.names = value("--names=");
    } else if (flag.starts_with("--csv=")) {
      flags.csv = value("--csv=");
    } else if (flag.starts_with("--processors=")) {
      flags.processors = numbers(value("--processors="));
    } else if (flag.starts_with("--every=")) {
      flags.every = std::max<std::size_t>(1, std::stoul(value("--every=")));
    } else if (flag.starts_with("--seconds=")) {
      flags.seconds = std::stod(value("--seconds="));
    } else if (flag.starts_with("--tasks=")) {
      flags.tasks = static_cast<std::uint32_t>(std::stoul(value("--tasks=")));
    } else {
      throw std::invalid_argument(fmt::format("unknown flag {}: see search_bench.cpp", flag));
    }
  }
  return flags;
}

}  // namespace

int run(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  if (flags.stg.empty()) {
    measure_rates(flags.tasks);
  } else {
    search_set(flags);
  }
  return EXIT_SUCCESS;
}

}  // namespace schedlab::bench
