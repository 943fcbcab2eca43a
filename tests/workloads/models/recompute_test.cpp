// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recompute.hpp"

#include "sim/base/error.hpp"
#include "tests/workloads/buckets/lstm_closed_forms.hpp"
#include "workloads/buckets/checkpoints.hpp"
#include "workloads/buckets/recurrent_memory.hpp"
#include "workloads/models/recurrent/recurrent.hpp"
#include "workloads/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace schedlab;
using namespace schedlab::testing;

namespace {

constexpr std::array<RecurrentCell, 3> cells{
    RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before};
constexpr std::array<Recompute, 5> choices{Recompute::keep_all,
                                           Recompute::keep_backward,
                                           Recompute::data_drop,
                                           Recompute::sqrt,
                                           Recompute::optimal};

RecurrentSpec training(Recompute recompute) {
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 20;
  spec.batch = 4;
  spec.hidden = 8;
  spec.pass = RecurrentPass::training;
  spec.recompute = recompute;
  return spec;
}

std::string kind_of(const std::string& name) {
  return name.substr(0, name.find('('));
}

/// Bytes held from task to task where tasks run one after another in the order of their ids.
class SerialMemory {
 public:
  explicit SerialMemory(const TaskGraph& graph) : held_(graph.task_count(), 0) {
    const TensorTable& tensors = graph.tensors();
    for (const TensorId id : tensors.ids()) {
      const auto writers = tensors.writers(id);
      const auto readers = tensors.readers(id);
      std::uint32_t first = 0;
      auto last = static_cast<std::uint32_t>(graph.task_count() - 1);
      if (!tensors.persistent(id)) {
        first = std::min_element(writers.begin(), writers.end())->value();
        const auto& users = readers.empty() ? writers : readers;
        last = std::max_element(users.begin(), users.end())->value();
      }
      const std::string kind = kind_of(tensors.name(id));
      for (std::uint32_t task = first; task <= last; ++task) {
        held_[task] += tensors.bytes(id).count();
        by_kind_[{kind, task}] += tensors.bytes(id).count();
      }
    }
  }
  [[nodiscard]] std::int64_t peak() const { return *std::max_element(held_.begin(), held_.end()); }
  [[nodiscard]] std::int64_t of(TaskId task, const std::string& kind) const {
    const auto found = by_kind_.find({kind, task.value()});
    return found == by_kind_.end() ? 0 : found->second;
  }

 private:
  std::vector<std::int64_t> held_;
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> by_kind_;
};

std::map<std::string, std::size_t> tasks_by_operation(const TaskGraph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const TaskId task : graph.tasks()) ++counts[graph.operation(task).name];
  return counts;
}

TaskId first_of(const TaskGraph& graph, const std::string& operation) {
  for (const TaskId task : graph.tasks()) {
    if (graph.operation(task).name == operation) return task;
  }
  return TaskId::none();
}

/// Which tasks must run before each.
std::vector<std::vector<bool>> ancestors(const TaskGraph& graph) {
  std::vector<std::vector<bool>> before(graph.task_count(),
                                        std::vector<bool>(graph.task_count(), false));
  for (const TaskId task : graph.tasks()) {
    for (const TaskId direct : graph.predecessors(task)) {
      before[task.value()][direct.value()] = true;
      for (std::size_t i = 0; i < graph.task_count(); ++i) {
        if (before[direct.value()][i]) before[task.value()][i] = true;
      }
    }
  }
  return before;
}

/// Forward steps of a whole training step, or -1 if the actions are no way to run it: every step
/// runs backward once, in falling order, after its values were computed once more.
std::int64_t forward_steps_if_valid(const std::vector<ChainAction>& actions, std::int64_t steps) {
  std::int64_t left = steps;
  std::int64_t count = steps;
  std::set<std::int64_t> computed{steps - 1};
  for (const ChainAction& action : actions) {
    if (action.forward) {
      ++count;
      if (action.step >= left) return -1;
      computed.insert(action.step);
      continue;
    }
    if (action.step != left - 1 || !computed.contains(action.step)) return -1;
    left = action.step;
    computed.erase(action.step);
  }
  return left == 0 ? count : -1;
}

}  // namespace

TEST_CASE("optimal checkpoints take as few forward steps as the closed form says") {
  for (const std::int64_t steps : {1, 2, 3, 7, 20, 53, 200}) {
    for (const std::int64_t slots : {0, 1, 2, 3, 5, 13, 400}) {
      CAPTURE(steps);
      CAPTURE(slots);
      const std::int64_t used = std::min(slots, steps - 1);
      CHECK(forward_steps_if_valid(checkpointed_actions(steps, slots), steps) ==
            min_forward_steps(steps, used));
    }
  }
  CHECK_THROWS_AS((void)checkpointed_actions(0, 1), ContractViolation);
  CHECK_THROWS_AS((void)checkpointed_actions(3, -1), ContractViolation);
}

TEST_CASE("segments are computed once more but for the last") {
  // 10 steps in segments of 4: 0-3, 4-7 again, 8-9 not.
  const std::vector<ChainAction> actions = segmented_actions(10, 4);
  std::vector<std::int64_t> again;
  for (const ChainAction& action : actions) {
    if (action.forward) again.push_back(action.step);
  }
  CHECK(again == std::vector<std::int64_t>{4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(actions.front() == ChainAction{.forward = false, .step = 9});
  CHECK(actions.back() == ChainAction{.forward = false, .step = 0});
  CHECK(actions.size() == 18);
  CHECK(segmented_actions(5, 5).size() == 5);
}

TEST_CASE("what is kept after the forward pass is what the closed forms count") {
  // Without gradients, half of 2 {19, 7, 2} B H a cell: 4 * 8 * 4 bytes = 128 for each value. The
  // graph keeps 6 for the backward pass: its kernel computes tanh(c) anew.
  const UnrolledLstm lstm{.layers = 3, .steps = 20, .batch = 4, .hidden = 8};
  const std::array<std::pair<Recompute, std::int64_t>, 3> expected{
      {{Recompute::keep_all, lstm_cell_bytes(Recompute::keep_all, lstm).count() / 2},
       {Recompute::keep_backward,
        lstm_cell_bytes(Recompute::keep_backward, lstm).count() / 2 - 128},
       {Recompute::data_drop, lstm_cell_bytes(Recompute::data_drop, lstm).count() / 2}}};
  for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
    for (const auto& [recompute, bytes] : expected) {
      CAPTURE(std::string{to_string(recompute)});
      RecurrentSpec spec = training(recompute);
      spec.granularity = granularity;
      const TaskGraph graph = recurrent(spec);
      const SerialMemory memory{graph};
      const TaskId loss = first_of(graph, "loss");
      std::int64_t held = 0;
      for (const char* kind : {"gates", "c", "h", "zx", "zh", "unfused"}) {
        held += memory.of(loss, kind);
      }
      const std::int64_t initial = 2 * 3 * 128;  // persistent states before the first step
      CHECK(held == 60 * bytes + initial);
    }
  }
}

TEST_CASE("keep_all keeps the same of whole nodes and of nodes cut into kernels") {
  for (const RecurrentCell cell : cells) {
    std::array<std::int64_t, 2> held{};
    for (std::size_t i = 0; i < held.size(); ++i) {
      RecurrentSpec spec = training(Recompute::keep_all);
      spec.cell = cell;
      spec.granularity = i == 0 ? Granularity::fine : Granularity::coarse;
      const TaskGraph graph = recurrent(spec);
      const SerialMemory memory{graph};
      for (const char* kind : {"zx", "zh", "zc", "unfused", "gates", "n", "rh"}) {
        held.at(i) += memory.of(first_of(graph, "loss"), kind);
      }
    }
    CAPTURE(static_cast<int>(cell));
    CHECK(held[0] == held[1]);
  }
}

TEST_CASE("data drop computes the values of one cell at a time") {
  const TaskGraph graph = recurrent(training(Recompute::data_drop));
  const SerialMemory memory{graph};
  for (const TaskId task : graph.tasks()) {
    CAPTURE(graph.name(task));
    CHECK(memory.of(task, "gates") <= 4 * 128);
    CHECK(memory.of(task, "zx") <= 4 * 128);
  }
  const auto counts = tasks_by_operation(graph);
  CHECK(counts.at("recompute_input_gemm") == 60);
  CHECK(counts.at("recompute_recurrent_gemm") == 60);
  CHECK(counts.at("recompute_cell_forward") == 60);
}

TEST_CASE("data drop of a projected LSTM keeps what it projects, and h and c, of one cell") {
  RecurrentSpec spec = training(Recompute::data_drop);
  spec.projection = 2;  // of 8
  const TaskGraph graph = recurrent(spec);
  const SerialMemory memory{graph};
  for (const TaskId task : graph.tasks()) {
    CAPTURE(graph.name(task));
    // After the loss; before it a step's values live until it has ended.
    CHECK(memory.of(task, "gates") <= 4 * 128);
    CHECK(memory.of(task, "m") <= 128);
  }
  const TaskId loss = first_of(graph, "loss");
  CHECK(memory.of(loss, "h") == 3 * (20 + 1) * 4 * 2 * 4);
  CHECK(memory.of(loss, "c") == 3 * (20 + 1) * 128);
  const auto counts = tasks_by_operation(graph);
  CHECK(counts.at("recompute_cell_forward") == 60);
  CHECK_FALSE(counts.contains("recompute_projection_gemm"));
  spec.recompute = Recompute::sqrt;
  CHECK(tasks_by_operation(recurrent(spec)).contains("recompute_projection_gemm"));
}

TEST_CASE("a recomputed step waits for the gradient node before it, in every cut") {
  for (const Recompute recompute : {Recompute::data_drop, Recompute::sqrt, Recompute::optimal}) {
    for (const Granularity granularity : {Granularity::fine,
                                          Granularity::coarse,
                                          Granularity::matmul,
                                          Granularity::data_and_weight,
                                          Granularity::kernel_and_weight}) {
      for (const RecurrentCell cell : cells) {
        RecurrentSpec spec = training(recompute);
        spec.granularity = granularity;
        spec.cell = cell;
        CAPTURE(std::string{to_string(recompute)});
        CAPTURE(static_cast<int>(granularity));
        const TaskGraph graph = recurrent(spec);
        CHECK(graph.topologically_numbered());
        for (const TaskId task : graph.tasks()) {
          const std::string& name = graph.operation(task).name;
          if (name != "recompute_input_gemm" && name != "recompute_node_forward") continue;
          CAPTURE(graph.name(task));
          const auto before = graph.predecessors(task);
          CHECK(std::any_of(before.begin(), before.end(), [&](TaskId id) {
            const std::string& of = graph.operation(id).name;
            return of == "cell" || of == "node" || of == "data_node" || of == "loss" ||
                   of == "hidden_2";
          }));
        }
      }
    }
  }
}

TEST_CASE("dependencies are complete without tensors") {
  for (const Recompute recompute : choices) {
    for (const RecurrentCell cell : cells) {
      for (const Granularity granularity :
           {Granularity::fine, Granularity::coarse, Granularity::kernel_and_weight}) {
        CAPTURE(std::string{to_string(recompute)});
        CAPTURE(static_cast<int>(cell));
        CAPTURE(static_cast<int>(granularity));
        RecurrentSpec spec = training(recompute);
        spec.cell = cell;
        spec.layers = 2;
        spec.steps = 7;
        spec.granularity = granularity;
        const auto with = ancestors(recurrent(spec));
        spec.tensors = false;
        CHECK(ancestors(recurrent(spec)) == with);
      }
    }
  }
}

TEST_CASE("less is kept, less memory is needed, more is computed") {
  std::map<Recompute, std::int64_t> peak;
  std::map<Recompute, double> flops;
  for (const Recompute recompute : choices) {
    RecurrentSpec spec = training(recompute);
    spec.steps = 100;
    const TaskGraph graph = recurrent(spec);
    peak[recompute] = SerialMemory{graph}.peak();
    for (const TaskId task : graph.tasks())
      flops[recompute] += graph.operation(task).flops().count();
  }
  CHECK(peak[Recompute::keep_all] > peak[Recompute::keep_backward]);
  CHECK(peak[Recompute::keep_backward] > peak[Recompute::data_drop]);
  CHECK(peak[Recompute::data_drop] > peak[Recompute::sqrt]);
  // As many states as sqrt keeps, but no whole segment of values.
  CHECK(peak[Recompute::sqrt] > peak[Recompute::optimal]);
  CHECK(flops[Recompute::keep_all] == flops[Recompute::keep_backward]);
  CHECK(flops[Recompute::data_drop] > flops[Recompute::keep_backward]);
  // Data drop computes every cell's products again, sqrt those of all segments but the last.
  CHECK(flops[Recompute::sqrt] < 1.01 * flops[Recompute::data_drop]);
  CHECK(flops[Recompute::optimal] > flops[Recompute::sqrt]);
}

TEST_CASE("a truncated step does the same work but for the first hidden_1 of each segment") {
  for (const Recompute recompute : {Recompute::keep_backward, Recompute::data_drop}) {
    RecurrentSpec spec = training(recompute);
    auto whole = tasks_by_operation(recurrent(spec));
    spec.truncate_steps = 6;  // 6, 6, 6, 2
    auto segments = tasks_by_operation(recurrent(spec));
    CHECK(whole["loss"] == 1);
    CHECK(segments["loss"] == 4);
    CHECK(whole["hidden_1"] - segments["hidden_1"] == 3U * 4U);
    for (auto* counts : {&whole, &segments}) {
      counts->erase("loss");
      counts->erase("hidden_1");
    }
    CHECK(segments == whole);
  }
}

TEST_CASE("a segment's products wait for the gradients of the one before") {
  RecurrentSpec spec = training(Recompute::keep_backward);
  spec.truncate_steps = 5;
  for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
    spec.granularity = granularity;
    const bool fine = granularity == Granularity::fine;
    const TaskGraph graph = recurrent(spec);
    const auto before = ancestors(graph);
    for (std::int16_t layer = 0; layer < spec.layers; ++layer) {
      TaskId product;
      TaskId gradient;
      for (const TaskId task : graph.tasks()) {
        const Tags& tags = graph.tags(task);
        if (tags.layer != layer) continue;
        const std::string& of = graph.operation(task).name;
        if (tags.step == 5 && of == (fine ? "recurrent_gemm" : "node_forward")) product = task;
        if (tags.step == 0 && of == (fine ? "cell" : "node")) gradient = task;
      }
      CHECK(before[product.value()][gradient.value()]);
    }
    spec.tensors = false;
    CHECK(ancestors(recurrent(spec)) == before);
    spec.tensors = true;
  }
}

TEST_CASE("shorter segments need less memory, and less still with data drop") {
  const auto peak_of = [](Recompute recompute, std::int64_t segment) {
    RecurrentSpec spec = training(recompute);
    spec.steps = 100;
    spec.truncate_steps = segment;
    return SerialMemory{recurrent(spec)}.peak();
  };
  std::int64_t last = peak_of(Recompute::keep_backward, 0);
  CHECK(peak_of(Recompute::keep_backward, 100) == last);
  for (const std::int64_t segment : {50, 20, 5}) {
    const std::int64_t kept = peak_of(Recompute::keep_backward, segment);
    CHECK(kept < last);
    CHECK(peak_of(Recompute::data_drop, segment) < kept);
    last = kept;
  }
}

TEST_CASE("what segments cannot be combined with is refused by name") {
  const auto refused = [](const char* option, auto change) {
    RecurrentSpec spec = training(Recompute::keep_backward);
    spec.truncate_steps = 5;
    change(spec);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(recurrent(spec)), doctest::Contains(option), InfeasibleError);
  };
  refused("pass", [](RecurrentSpec& s) { s.pass = RecurrentPass::backward; });
  refused("bidirectional", [](RecurrentSpec& s) { s.bidirectional = Bidirectional::all; });
  refused("recompute", [](RecurrentSpec& s) { s.recompute = Recompute::sqrt; });
  refused("input_steps", [](RecurrentSpec& s) { s.input_steps = 2; });
  refused("hidden_2_steps", [](RecurrentSpec& s) { s.hidden_2_steps = 2; });
  refused("hidden_1_slices", [](RecurrentSpec& s) { s.hidden_1_slices = 2; });
}

TEST_CASE("more checkpoints need more memory and less work") {
  std::int64_t last_peak = 0;
  std::size_t last_tasks = 1'000'000;
  for (const std::int64_t checkpoints : {1, 2, 4, 8, 19}) {
    CAPTURE(checkpoints);
    RecurrentSpec spec = training(Recompute::optimal);
    spec.checkpoints = checkpoints;
    const TaskGraph graph = recurrent(spec);
    const std::int64_t peak = SerialMemory{graph}.peak();
    CHECK(peak > last_peak);
    CHECK(graph.task_count() < last_tasks);
    // 3 * min_forward_steps() cells of three tasks.
    const auto counts = tasks_by_operation(graph);
    CHECK(counts.at("cell_forward") + counts.at("recompute_cell_forward") ==
          3U * static_cast<std::size_t>(min_forward_steps(20, checkpoints)));
    last_peak = peak;
    last_tasks = graph.task_count();
  }
}

TEST_CASE("recomputation that cannot be is refused with what to do") {
  RecurrentSpec spec = training(Recompute::data_drop);
  spec.pass = RecurrentPass::backward;
  CHECK_THROWS_WITH_AS(
      (void)recurrent(spec), doctest::Contains("set \"pass\": \"training\""), InfeasibleError);
  spec = training(Recompute::sqrt);
  spec.bidirectional = Bidirectional::first;
  CHECK_THROWS_WITH_AS((void)recurrent(spec), doctest::Contains("use data_drop"), InfeasibleError);
  spec.recompute = Recompute::data_drop;
  CHECK(recurrent(spec).task_count() > 0);
}

TEST_CASE("an output layer is three products over all steps") {
  const TaskGraph graph = make_workload("output_layer",
                                        {{"steps", std::int64_t{5}},
                                         {"batch", std::int64_t{3}},
                                         {"width", std::int64_t{7}},
                                         {"classes", std::int64_t{11}}});
  CHECK(graph.task_count() == 5);
  double products = 0;
  for (const TaskId task : graph.tasks()) {
    const Kernel& kernel = graph.operation(task).kernels.front();
    products += 2.0 * static_cast<double>(kernel.m * kernel.n * kernel.k);
  }
  // Forward, gradient of what it reads, gradient of its weights: 2 * 15 * 7 * 11 each.
  CHECK(products == 3 * 2 * 15 * 7 * 11);
  CHECK_THROWS_AS((void)make_workload("output_layer", {{"classes", std::int64_t{0}}}), InputError);
}
