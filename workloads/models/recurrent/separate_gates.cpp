// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/separate_gates.hpp"

#include "workloads/transforms/copy_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {
namespace {

enum Part : std::size_t { state, input_gate, forget_gate, cell_gate, output_gate, part_count };
constexpr std::array<std::string_view, part_count> part_names{
    "cell_state", "input_gate", "forget_gate", "cell_gate", "output_gate"};
constexpr std::size_t gate_count = 4;   // part g + 1 is gate g
constexpr std::int64_t cell_reads = 8;  // per hidden element, besides each dx: cell_kernel()

/// What `graph` becomes; used once.
class SeparateGates {
 public:
  SeparateGates(const TaskGraph& graph, DataType type, bool products)
      : graph_(graph),
        type_(type),
        products_(products),
        operations_(builder_),
        new_id_(graph.task_count(), TaskId::none()),
        parts_(graph.task_count()),
        by_gate_(graph.task_count()) {}

  [[nodiscard]] TaskGraph run() {
    for (const TaskId task : graph_.tasks()) add_tasks(task);
    for (const TaskId task : graph_.tasks()) add_edges(task);
    for (const TensorId tensor : graph_.tensors().ids()) copy_tensor(tensor);
    for (const TaskId task : graph_.tasks()) {
      if (is_cell(task)) add_values(task);
    }
    return std::move(builder_).build();
  }

 private:
  using Parts = std::array<TaskId, part_count>;
  using ByGate = std::array<TaskId, gate_count>;

  [[nodiscard]] bool is_cell(TaskId task) const { return graph_.operation(task).name == "cell"; }
  /// Elements of one hidden state of the layer: the kernel writes five of them.
  [[nodiscard]] std::int64_t cells(TaskId cell) const {
    return graph_.operation(cell).bytes_written().count() / (5 * bytes_per_element(type_));
  }

  /// Sums over gates in one product, or has columns for each.
  enum class Product : std::uint8_t { none, summed, columns };
  [[nodiscard]] Product product(TaskId task) const {
    const std::string& name = graph_.operation(task).name;
    if (!products_) return Product::none;
    if (name == "hidden_1" || name == "hidden_2") return Product::summed;
    return name == "weight_1" || name == "weight_2" ? Product::columns : Product::none;
  }

  /// One product for each gate: of a sum each but the first adds to the one before.
  void add_products(TaskId task) {
    const Operation& whole = graph_.operation(task);
    const Kernel& kernel = whole.kernels.front();
    const bool summed = product(task) == Product::summed;
    constexpr auto gates = static_cast<std::int64_t>(gate_count);
    for (std::size_t gate = 0; gate < gate_count; ++gate) {
      const Kernel part = gemm_kernel(kernel.m,
                                      summed ? kernel.n : kernel.n / gates,
                                      summed ? kernel.k / gates : kernel.k,
                                      type_,
                                      !summed || gate > 0);
      by_gate_[task][gate] = builder_.add_task(
          operations_.add({.name = whole.name + "_" + std::string{part_names[gate + 1]},
                           .kind = TaskKind::gemm,
                           .task_class = whole.task_class,
                           .kernels = {part}}),
          graph_.tags(task));
      if (summed && gate > 0) builder_.add_edge(by_gate_[task][gate - 1], by_gate_[task][gate]);
    }
    new_id_[task] = by_gate_[task].back();
  }

  void add_tasks(TaskId task) {
    if (product(task) != Product::none) return add_products(task);
    if (!is_cell(task)) {
      new_id_[task] = copy_task(graph_, task, operations_.add(graph_.operation(task)), builder_);
      return;
    }
    const std::int64_t n = cells(task);
    const std::int64_t above =
        graph_.operation(task).bytes_read().count() / (n * bytes_per_element(type_)) - cell_reads;
    for (std::size_t part = 0; part < part_count; ++part) {
      const bool first = part == state;
      const auto flops = static_cast<double>((first ? 7 + above : 4) * n);
      const Kernel kernel =
          pointwise_kernel(type_, flops, (first ? 5 + above : 3) * n, (first ? 4 : 1) * n);
      parts_[task][part] =
          builder_.add_task(operations_.add({.name = std::string{part_names[part]},
                                             .kind = TaskKind::pointwise,
                                             .task_class = TaskClass::critical_pointwise,
                                             .kernels = {kernel}}),
                            graph_.tags(task));
    }
    new_id_[task] = parts_[task][state];
  }

  void add_edges(TaskId task) {
    for (std::size_t part = input_gate; is_cell(task) && part < part_count; ++part) {
      builder_.add_edge(parts_[task][state], parts_[task][part]);
    }
    for (const TaskId after : graph_.successors(task)) {
      const bool by_gate = (is_cell(task) && !is_cell(after)) ||
                           product(task) == Product::columns || product(after) == Product::columns;
      for (std::size_t gate = 0; gate < (by_gate ? gate_count : 1); ++gate) {
        builder_.add_edge(source(task, after, gate), target(task, after, gate));
      }
    }
  }

  [[nodiscard]] TaskId source(TaskId task, TaskId after, std::size_t gate) const {
    if (is_cell(task)) return parts_[task][is_cell(after) ? std::size_t{state} : gate + 1];
    return product(task) == Product::columns ? by_gate_[task][gate] : new_id_[task];
  }

  [[nodiscard]] TaskId target(TaskId task, TaskId after, std::size_t gate) const {
    switch (product(after)) {
      case Product::columns:
        return by_gate_[after][gate];
      case Product::summed:
        return by_gate_[after][is_cell(task) ? gate : 0];
      default:
        return new_id_[after];
    }
  }

  [[nodiscard]] std::string_view role(const std::string& name) const {
    return std::string_view{name}.substr(0, name.find('('));
  }

  TensorId add_tensor(std::string name, Bytes bytes, bool persistent) {
    return builder_.add_tensor({.name = std::move(name), .bytes = bytes, .persistent = persistent});
  }

  void copy_tensor(TensorId id) {
    const TensorTable& tensors = graph_.tensors();
    const std::string name = tensors.name(id);
    if (role(name) == "gates" || role(name) == "c") return;  // add_values()
    if (role(name) == "dG") return split_gradient(id);
    const auto written_by = [&](Product kind) {
      return std::ranges::any_of(tensors.writers(id),
                                 [&](TaskId task) { return product(task) == kind; });
    };
    if (written_by(Product::columns)) return split_columns(id);
    const TensorId copy =
        builder_.add_tensor({.name = name,
                             .bytes = tensors.bytes(id),
                             .accumulate = tensors.accumulate(id) || written_by(Product::summed),
                             .persistent = tensors.persistent(id)});
    for (const TaskId task : tensors.writers(id)) {
      for (const TaskId part : tasks_of(task)) builder_.writes(part, copy);
    }
    for (const TaskId task : tensors.readers(id)) {
      for (const TaskId part : tasks_of(task)) builder_.reads(part, copy);
    }
  }

  /// The products of a task that was cut, or the one task (of a cell its cell_state).
  [[nodiscard]] std::vector<TaskId> tasks_of(TaskId task) const {
    if (product(task) == Product::none) return {new_id_[task]};
    return {by_gate_[task].begin(), by_gate_[task].end()};
  }

  /// A matrix of weights' gradients becomes one for each gate.
  void split_columns(TensorId id) {
    const TensorTable& tensors = graph_.tensors();
    const std::string name{role(tensors.name(id))};
    const std::string suffix = tensors.name(id).substr(name.size());
    for (std::size_t gate = 0; gate < gate_count; ++gate) {
      const TensorId copy =
          builder_.add_tensor({.name = name + "_" + std::string{part_names[gate + 1]} + suffix,
                               .bytes = Bytes{tensors.bytes(id).count() / std::int64_t{gate_count}},
                               .accumulate = true,
                               .persistent = tensors.persistent(id)});
      for (const TaskId task : tensors.writers(id)) {
        const bool cut = product(task) != Product::none;
        builder_.writes(cut ? by_gate_[task][gate] : new_id_[task], copy);
      }
      for (const TaskId task : tensors.readers(id)) builder_.reads(new_id_[task], copy);
    }
  }

  void split_gradient(TensorId id) {
    const TensorTable& tensors = graph_.tensors();
    const TaskId cell = tensors.writers(id).front();
    const std::string suffix = tensors.name(id).substr(role(tensors.name(id)).size());
    for (std::size_t part = input_gate; part < part_count; ++part) {
      const TensorId copy = add_tensor("d_" + std::string{part_names[part]} + suffix,
                                       Bytes{tensors.bytes(id).count() / 4},
                                       tensors.persistent(id));
      builder_.writes(parts_[cell][part], copy);
      for (const TaskId task : tensors.readers(id)) {
        const bool cut = product(task) != Product::none;
        builder_.reads(cut ? by_gate_[task][part - 1] : new_id_[task], copy);
      }
    }
  }

  /// The step whose state a node starts from: that of the cell which needs its dc; -1: the initial
  /// state (of a reversed chain too).
  [[nodiscard]] std::int32_t step_before(TaskId cell) const {
    for (const TaskId after : graph_.successors(cell)) {
      if (is_cell(after)) return graph_.tags(after).step;
    }
    return -1;
  }

  [[nodiscard]] TensorId state_of(std::int16_t layer, std::int32_t step, Bytes bytes) {
    const auto [entry, added] = states_.try_emplace({layer, step}, TensorId::none());
    if (added) entry->second = add_tensor(fmt_name("c", layer, step), bytes, true);
    return entry->second;
  }

  [[nodiscard]] static std::string fmt_name(std::string_view name,
                                            std::int16_t layer,
                                            std::int32_t step) {
    return std::string{name} + "(" + std::to_string(layer) + "," + std::to_string(step) + ")";
  }

  /// Activations, states and what the five tasks hand to each other.
  void add_values(TaskId cell) {
    const Tags tags = graph_.tags(cell);
    const Bytes bytes{cells(cell) * bytes_per_element(type_)};
    const Parts& parts = parts_[cell];
    const auto value =
        [&](std::string_view name, std::initializer_list<Part> readers, bool made_here = false) {
          const TensorId id = add_tensor(fmt_name(name, tags.layer, tags.step), bytes, !made_here);
          if (made_here) builder_.writes(parts[state], id);
          for (const Part reader : readers) builder_.reads(parts[reader], id);
        };
    value("i", {input_gate, cell_gate});
    value("f", {state, forget_gate});
    value("g", {input_gate, cell_gate});
    value("o", {state, output_gate});
    builder_.reads(parts[state], state_of(tags.layer, tags.step, bytes));
    builder_.reads(parts[forget_gate], state_of(tags.layer, step_before(cell), bytes));
    value("dht", {output_gate}, true);
    value("tanh_c", {output_gate}, true);
    value("dct", {input_gate, forget_gate, cell_gate}, true);
  }

  const TaskGraph& graph_;
  DataType type_;
  bool products_;
  TaskGraphBuilder builder_;
  OperationSet operations_;
  IdVector<TaskId, TaskId> new_id_;   ///< of a cell: its cell_state
  IdVector<TaskId, Parts> parts_;     ///< of cells
  IdVector<TaskId, ByGate> by_gate_;  ///< of products that are cut
  std::map<std::pair<std::int16_t, std::int32_t>, TensorId> states_;
};

}  // namespace

TaskGraph separate_gates(const TaskGraph& graph, DataType type, bool products) {
  return SeparateGates{graph, type, products}.run();
}

}  // namespace schedlab::detail
