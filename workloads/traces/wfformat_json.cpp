// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/foreign_readers.hpp"
#include "workloads/traces/json_dom.hpp"

#include <simdjson.h>

#include <map>
#include <string>

namespace schedlab::detail {
namespace {

namespace dom = simdjson::dom;

constexpr double us_per_second = 1e6;

/// Schema 1.5 keeps what is to be done apart from how it went; before, a task has both.
class WfFormatReader {
 public:
  explicit WfFormatReader(GraphDraft& draft) : draft_(&draft) {}

  void read(const dom::object& workflow) {
    dom::object specification;
    if (workflow["specification"].get(specification) == simdjson::SUCCESS) {
      dom::object execution;
      if (workflow["execution"].get(execution) == simdjson::SUCCESS) read_runtimes(execution);
      read_tasks(specification);
    } else {
      read_tasks(workflow);
    }
  }

 private:
  void read_runtimes(const dom::object& execution) {
    dom::array tasks;
    if (execution["tasks"].get(tasks) != simdjson::SUCCESS) return;
    for (const dom::element element : tasks) {
      dom::object task;
      std::string_view id;
      double seconds = 0;
      if (element.get(task) == simdjson::SUCCESS && task["id"].get(id) == simdjson::SUCCESS &&
          task["runtimeInSeconds"].get(seconds) == simdjson::SUCCESS) {
        runtimes_[std::string{id}] = seconds;
      }
    }
  }

  void read_tasks(const dom::object& parent) {
    dom::array tasks;
    if (parent["tasks"].get(tasks) != simdjson::SUCCESS &&
        parent["jobs"].get(tasks) != simdjson::SUCCESS) {
      draft_->refuse("/workflow", "no \"tasks\"", "a list of tasks");
    }
    for (const dom::element element : tasks) {
      dom::object task;
      if (element.get(task) == simdjson::SUCCESS) {
        read_task(task);
      } else {
        draft_->problem(Severity::data_loss, "node_without_id", {});
      }
    }
  }

  /// Until 1.3 tasks are known by their names, then by their ids.
  void read_task(const dom::object& task) {
    const std::string_view name = text_or_empty(task, "name");
    const std::string_view id = value_or(task, "id", name);
    if (id.empty()) {
      draft_->problem(Severity::data_loss, "node_without_id", std::string{name});
      return;
    }
    const std::string_view category = value_or(task, "category", name);
    const TaskId added =
        draft_->add({.key = std::string{id},
                     .name = std::string{id},
                     .operation = std::string{category.empty() ? id : category},
                     .kind = TaskKind::fixed,
                     .kernels = {},
                     .duration = draft_->duration_us(seconds_of(task, id) * us_per_second)});
    if (!added.valid()) return;
    read_relatives(task, added, id);
  }

  double seconds_of(const dom::object& task, std::string_view id) {
    double seconds = 0;
    if (task["runtimeInSeconds"].get(seconds) == simdjson::SUCCESS ||
        task["runtime"].get(seconds) == simdjson::SUCCESS) {
      return seconds;
    }
    const auto known = runtimes_.find(std::string{id});
    if (known != runtimes_.end()) return known->second;
    draft_->problem(Severity::notice, "task_without_duration", std::string{id});
    return 0;
  }

  /// Parents say all; children say it again.
  void read_relatives(const dom::object& task, TaskId added, std::string_view id) {
    dom::array parents;
    if (task["parents"].get(parents) != simdjson::SUCCESS) {
      draft_->problem(Severity::notice, "task_without_parents", std::string{id});
      return;
    }
    for (const dom::element element : parents) {
      std::string_view parent;
      if (element.get(parent) == simdjson::SUCCESS) draft_->needs(added, std::string{parent});
    }
  }

  GraphDraft* draft_;
  std::map<std::string, double> runtimes_;
};

}  // namespace

void read_wfformat(std::string_view text, GraphDraft& draft) {
  dom::parser parser;
  const dom::object root = parse_object(parser, text, draft);
  dom::object workflow;
  if (root["workflow"].get(workflow) != simdjson::SUCCESS) {
    draft.refuse("/workflow", "something else", "an object with tasks");
  }
  WfFormatReader{draft}.read(workflow);
}

}  // namespace schedlab::detail
