// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/command_pages.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <string_view>

namespace schedlab {
namespace {

struct Example {
  std::string_view verb;
  std::string_view command;
};

/// At least one for every verb; several stand in this order.
constexpr std::array examples{
    Example{"graph", "schedlab graph experiments/quickstart_timeline.json"},
    Example{"graph", "schedlab graph experiments/quickstart_timeline.json --to dot --out lstm.dot"},
    Example{"import", "schedlab import rank0.json.gz rank1.json.gz"},
    Example{"import", "schedlab import trace.json.gz --out out/mine"},
    Example{"simulate", "schedlab simulate experiments/quickstart_timeline.json --out out/one"},
    Example{"search",
            "schedlab search experiments/quickstart_timeline.json --seconds 10 --out out/best"},
    Example{"sensitivity",
            "schedlab sensitivity experiments/quickstart_timeline.json --out out/sensitivity"},
    Example{"sweep", "schedlab sweep experiments/quickstart.json --out out/quickstart"},
    Example{"sweep", "schedlab sweep experiments/quickstart.json --out out/quickstart --resume"},
    Example{"sweep", "mpirun -n 4 schedlab sweep experiments/quickstart.json --out out/quickstart"},
    Example{"sweep", "schedlab sweep experiments/quickstart.json --shard 3/8 --out out/shards"},
    Example{"sweep",
            "schedlab sweep experiments/quickstart.json --require calibrated --out out/quickstart"},
    Example{"merge", "schedlab merge experiments/quickstart.json out/shards --out out/quickstart"},
    Example{"execute", "schedlab execute one.json --device cpu --out out/executed"},
    Example{"execute",
            "schedlab execute experiments/training.json --device mpi --ranks 2 --out out/trained"},
    Example{"calibrate", "schedlab calibrate --device cpu --quick --out my_cpu.json"},
    Example{"validate",
            "schedlab validate experiments/validate_quick.json --device cpu --host preloaded "
            "--machine my_cpu.json --out out/validation"},
    Example{"validate",
            "schedlab validate experiments/validate_quick.json --recording out/recording --out "
            "out/again"},
    Example{"baseline",
            "schedlab baseline experiments/validate_quick.json --library onednn --out "
            "out/baseline"},
    Example{"baseline",
            "schedlab baseline experiments/cpu_backward.json --device opencl --machine "
            "my_device.json --out out/baseline"},
    Example{"validate",
            "schedlab validate experiments/validate_cpu.json --device opencl --launch eager "
            "--machine my_device.json --out out/validation"},
    Example{"validate",
            "schedlab validate experiments/validate_quick.json --device cpu --baseline "
            "out/baseline/baseline.json --turns 50 --out out/validation"},
    Example{"buckets", "schedlab buckets experiments/buckets.json --out out/buckets"},
    Example{"partition", "schedlab partition experiments/partition.json --out out/partition"},
    Example{"plan-parallel",
            "schedlab plan-parallel experiments/plan_parallel.json --out out/parallel"},
    Example{"explain", "schedlab explain out/one --what-if --out out/why"},
    Example{"explain", "schedlab explain profile.json.gz --what-if --out out/why"},
    Example{"explain", "schedlab explain profile.json.gz --assume-like-siblings"},
    Example{"compare", "schedlab compare out/one out/other --out out/compared"},
    Example{"compare", "schedlab compare out/last_week out/today --max-slowdown 3%"},
    Example{"replay", "schedlab replay profile.json.gz --mode generated_host"},
    Example{"replay", "schedlab replay profile.json.gz --what-if stream:27=7,alone"},
    Example{"replay",
            "schedlab replay profile.json.gz --what-if scale:gemm=0.5 --what-if host=0.5 --out "
            "out/changed"},
    Example{"reproduce", "schedlab reproduce --quick --out out/reproduction"},
    Example{"reproduce", "schedlab reproduce --system s1 --out out/s1"},
    Example{"plot", "schedlab plot out/one --out timeline.png"},
    Example{"plot", "schedlab plot out/whole out/split --out both.svg"},
    Example{"plot", "schedlab plot out/quickstart --x batch --y layers --out map.svg"},
    Example{"export", "schedlab export csv out/quickstart --scenario 3 --out tasks.csv"},
    Example{"export", "schedlab export npy out/quickstart --out out/columns"},
    Example{"export", "schedlab export notebook out/quickstart"},
    Example{"export", "schedlab export costs profile.json.gz --out costs.csv"},
    Example{"emit", "schedlab emit out/one --as cuda --out plan.cu"},
    Example{"emit", "schedlab emit net.json --as pytorch --out planned.py"},
    Example{"emit",
            "schedlab emit experiments/pipeline_timeline.json --as pytorch_schedule --out "
            "schedule.csv"},
    Example{"serve", "schedlab serve out"},
    Example{"schema", "schedlab schema spec > spec.schema.json"},
    Example{"list", "schedlab list policies critical_first"},
    Example{"list", "schedlab list machines --json"},
    Example{"list", "schedlab list devices"},
    Example{"reference", "schedlab reference markdown --out docs/reference"},
    Example{"reference", "schedlab reference bash_completion --out schedlab.bash"}};

}  // namespace

void add_examples(CLI::App& program) {
  for (CLI::App* verb : program.get_subcommands([](CLI::App*) { return true; })) {
    std::string text;
    for (const Example& example : examples) {
      if (example.verb == verb->get_name()) text += fmt::format("\n  {}", example.command);
    }
    if (text.empty()) continue;  // a test says which verb has none
    const std::string before = verb->get_footer();
    verb->footer(fmt::format("{}{}Examples:{}", before, before.empty() ? "" : "\n\n", text));
  }
}

}  // namespace schedlab
