// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/foreign_readers.hpp"
#include "workloads/traces/json_dom.hpp"
#include "workloads/traces/operator_kernels.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace schedlab::detail {
namespace {

namespace dom = simdjson::dom;

constexpr int deepest_list = 8;  // assumed; lists of tensors in lists

/// A node of the trace; operators are a tree, and only its leaves work.
struct EtNode {
  std::int64_t id = 0;
  dom::object fields;
  ProfiledWork work{};  ///< of a profile of the same run, if there is one
};

/// Where schema 1.0.1 has one list each, Chakra's 1.0.2 has one object for inputs and outputs.
struct EtOperands {
  dom::array values;
  dom::array shapes;
  dom::array types;
};

DataType data_type_of(std::string_view type, std::int64_t element_bytes) {
  if (type.find("Half") != std::string_view::npos) return DataType::fp16;
  if (type.find("BFloat16") != std::string_view::npos) return DataType::bf16;
  if (type.find("double") != std::string_view::npos) return DataType::fp64;
  if (type.find("char") != std::string_view::npos || element_bytes == 1) return DataType::int8;
  return DataType::fp32;
}

class ExecutionTraceReader {
 public:
  ExecutionTraceReader(GraphDraft& draft, OperatorProfile* profile)
      : draft_(&draft), profile_(profile) {}

  void read(const dom::object& root) {
    dom::array nodes;
    if (root["nodes"].get(nodes) != simdjson::SUCCESS) {
      draft_->refuse("/nodes", "something else", "a list of nodes");
    }
    std::set<std::int64_t> inner;
    std::vector<EtNode> all;
    for (const dom::element element : nodes) {
      EtNode node;
      if (element.get(node.fields) != simdjson::SUCCESS ||
          node.fields["id"].get(node.id) != simdjson::SUCCESS) {
        draft_->problem(Severity::data_loss, "node_without_id", text_of_node(element));
        continue;
      }
      std::int64_t parent = 0;
      const bool has_parent = node.fields["parent"].get(parent) == simdjson::SUCCESS ||
                              node.fields["ctrl_deps"].get(parent) == simdjson::SUCCESS;
      // The root is its own parent in some versions.
      if (has_parent && parent != node.id) inner.insert(parent);
      all.push_back(node);
    }
    // A node is written when it ends, but numbered when it begins.
    std::stable_sort(
        all.begin(), all.end(), [](const EtNode& a, const EtNode& b) { return a.id < b.id; });
    if (profile_ != nullptr) add_work(all);
    for (const EtNode& node : all) {
      const std::string_view name = text_or_empty(node.fields, "name");
      const bool leaf = !inner.contains(node.id) && !name.starts_with("##");
      if ((leaf && !is_frame(name)) || node.work.activities > 0) add_operator(node, name);
    }
  }

 private:
  static std::string text_of_node(const dom::element& element) {
    constexpr std::size_t longest_shown = 60;
    return simdjson::minify(element).substr(0, longest_shown);
  }

  /// Of a process or thread.
  static bool is_frame(std::string_view name) { return name.starts_with("[pytorch|"); }

  /// Asks the profile, and puts the operators into the order in which they launched.
  void add_work(std::vector<EtNode>& all) const {
    std::vector<TracedOperator> operators;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view name = text_or_empty(all[i].fields, "name");
      if (is_frame(name)) continue;
      places.push_back(i);
      operators.push_back({.name = name,
                           .record_function = value_or(all[i].fields, "rf_id", std::int64_t{-1}),
                           .thread = value_or(all[i].fields, "tid", std::int64_t{0})});
    }
    const std::vector<ProfiledWork> work = profile_->work_of(operators);
    std::map<std::int64_t, Time> reached;  // by thread
    for (std::size_t i = 0; i < places.size(); ++i) {
      all[places[i]].work = work[i];
      // What the profile does not have stands behind what its thread did before.
      Time& when = reached[operators[i].thread];
      if (work[i].matched) when = work[i].when;
      all[places[i]].work.when = when;
    }
    std::stable_sort(all.begin(), all.end(), [](const EtNode& a, const EtNode& b) {
      return a.work.when < b.work.when;
    });
  }

  /// What it did as the profile shows it, instead of what its name and operands make likely.
  void correct(const EtNode& node, const OperatorCall& call, OperatorEstimate& estimate) const {
    if (!node.work.matched) return;
    if (node.work.activities == 0) {
      estimate = OperatorEstimate{};
      return;
    }
    if (estimate.work == OperatorWork::none) estimate.kind = TaskKind::fixed;
    if (call.inputs.empty() && call.outputs.empty()) {
      draft_->problem(Severity::notice, "work_without_operands", std::string{call.name});
    }
  }

  void add_operator(const EtNode& node, std::string_view name) {
    OperatorCall call{.name = name, .inputs = {}, .outputs = {}};
    read_tensors(node.fields, "inputs", "input_shapes", "input_types", call.inputs);
    read_tensors(node.fields, "outputs", "output_shapes", "output_types", call.outputs);
    const bool mutates = schema_of(node.fields).find('!') != std::string_view::npos;
    const std::vector<std::int64_t> written = written_storages(call, mutates);
    OperatorEstimate estimate = estimate_operator(call, !written.empty());
    correct(node, call, estimate);
    if (estimate.work == OperatorWork::collective && node.work.activities == 0) {
      draft_->problem(Severity::notice, "collective_without_duration", std::string{name});
    }
    const TaskId task = draft_->add({.key = fmt::format("{}", node.id),
                                     .name = fmt::format("{}#{}", name, node.id),
                                     .operation = std::string{name},
                                     .kind = estimate.kind,
                                     .kernels = estimate.kernels,
                                     .duration = node.work.device});
    if (!task.valid()) return;
    if (node.work.matched) profile_->made(node.work.place, task);
    order(task, call, written);
  }

  /// The declaration says which arguments are written to: "Tensor(a!) self".
  [[nodiscard]] static std::string_view schema_of(const dom::object& fields) {
    const std::string_view schema = text_or_empty(fields, "op_schema");
    dom::array attributes;
    if (!schema.empty() || fields["attrs"].get(attributes) != simdjson::SUCCESS) return schema;
    for (const dom::element element : attributes) {
      dom::object attribute;
      if (element.get(attribute) == simdjson::SUCCESS &&
          text_or_empty(attribute, "name") == "op_schema") {
        return text_or_empty(attribute, "value");
      }
    }
    return {};
  }

  /// Outputs in a buffer of an input are views of it, unless the operator says that it writes.
  static std::vector<std::int64_t> written_storages(const OperatorCall& call, bool mutates) {
    std::vector<std::int64_t> written;
    for (const OperatorTensor& output : call.outputs) {
      const bool shared =
          std::any_of(call.inputs.begin(), call.inputs.end(), [&](const OperatorTensor& input) {
            return input.storage == output.storage;
          });
      if (!shared || mutates) written.push_back(output.storage);
    }
    // An operator that writes in place and returns nothing: its first argument.
    if (mutates && written.empty() && !call.inputs.empty()) {
      written.push_back(call.inputs.front().storage);
    }
    return written;
  }

  /// Reads follow the write before them, a write what was written and read before it.
  void order(TaskId task, const OperatorCall& call, const std::vector<std::int64_t>& written) {
    for (const OperatorTensor& input : call.inputs) {
      Storage& storage = storages_[input.storage];
      if (storage.writer.valid()) draft_->needs(task, storage.writer);
      if (storage.readers.empty() || storage.readers.back() != task) {
        storage.readers.push_back(task);
      }
    }
    for (const std::int64_t id : written) {
      Storage& storage = storages_[id];
      if (storage.writer.valid() && storage.writer != task) draft_->needs(task, storage.writer);
      for (const TaskId reader : storage.readers) {
        if (reader != task) draft_->needs(task, reader);
      }
      storage.writer = task;
      storage.readers.clear();
    }
  }

  void read_tensors(const dom::object& fields,
                    std::string_view key,
                    std::string_view shapes_key,
                    std::string_view types_key,
                    std::vector<OperatorTensor>& tensors) {
    EtOperands operands;
    dom::object together;
    bool known = false;
    if (fields[key].get(together) == simdjson::SUCCESS) {
      known = together["values"].get(operands.values) == simdjson::SUCCESS &&
              together["shapes"].get(operands.shapes) == simdjson::SUCCESS &&
              together["types"].get(operands.types) == simdjson::SUCCESS;
    } else {
      known = fields[key].get(operands.values) == simdjson::SUCCESS &&
              fields[shapes_key].get(operands.shapes) == simdjson::SUCCESS &&
              fields[types_key].get(operands.types) == simdjson::SUCCESS;
    }
    if (!known) {
      draft_->problem(
          Severity::data_loss, "node_without_operands", std::string{text_or_empty(fields, "name")});
      return;
    }
    auto shape = operands.shapes.begin();
    auto type = operands.types.begin();
    for (const dom::element value : operands.values) {
      std::string_view type_text;
      if (type != operands.types.end()) {
        if ((*type).get(type_text) != simdjson::SUCCESS) type_text = {};
        ++type;
      }
      const bool has_shape = shape != operands.shapes.end();
      read_value(value, has_shape ? *shape : dom::element{}, has_shape, type_text, tensors, 0);
      if (has_shape) ++shape;
    }
  }

  /// A tensor is [id, storage, offset, elements, bytes of each, device]; lists may hold tensors.
  void read_value(const dom::element& value,
                  const dom::element& shape,
                  bool has_shape,
                  std::string_view type,
                  std::vector<OperatorTensor>& tensors,
                  int depth) {
    dom::array parts;
    if (value.get(parts) != simdjson::SUCCESS || depth > deepest_list) return;
    OperatorTensor tensor;
    std::string_view device;
    if (parts.size() == 6 && parts.at(5).get(device) == simdjson::SUCCESS &&
        parts.at(1).get(tensor.storage) == simdjson::SUCCESS &&
        parts.at(3).get(tensor.elements) == simdjson::SUCCESS &&
        parts.at(4).get(tensor.element_bytes) == simdjson::SUCCESS) {
      tensor.elements = draft_->size(tensor.elements);
      tensor.element_bytes = draft_->size(tensor.element_bytes);
      tensor.on_device = !device.empty() && !device.starts_with("cpu");
      tensor.type = data_type_of(type, tensor.element_bytes);
      if (has_shape) read_shape(shape, tensor.shape);
      tensors.push_back(std::move(tensor));
      return;
    }
    dom::array inner;
    const bool has_inner = has_shape && shape.get(inner) == simdjson::SUCCESS;
    std::size_t i = 0;
    for (const dom::element part : parts) {
      dom::element inner_shape;
      const bool has = has_inner && inner.at(i++).get(inner_shape) == simdjson::SUCCESS;
      read_value(part, inner_shape, has, type, tensors, depth + 1);
    }
  }

  void read_shape(const dom::element& shape, std::vector<std::int64_t>& sizes) {
    dom::array list;
    if (shape.get(list) != simdjson::SUCCESS) return;
    for (const dom::element item : list) {
      std::int64_t size = 0;
      if (item.get(size) != simdjson::SUCCESS) {
        sizes.clear();
        return;
      }
      sizes.push_back(draft_->size(size));
    }
  }

  struct Storage {
    TaskId writer;
    std::vector<TaskId> readers;
  };

  GraphDraft* draft_;
  OperatorProfile* profile_;
  std::map<std::int64_t, Storage> storages_;
};

}  // namespace

void read_execution_trace(std::string_view text, GraphDraft& draft, OperatorProfile* profile) {
  dom::parser parser;
  const dom::object root = parse_object(parser, text, draft);
  ExecutionTraceReader{draft, profile}.read(root);
}

}  // namespace schedlab::detail
