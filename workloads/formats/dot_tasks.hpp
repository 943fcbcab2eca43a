// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/formats/dot_scanner.hpp"
#include "workloads/formats/graph_totals.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// Attributes of a DOT node that say something of its task, in the order of dot_attribute_names().
enum class DotAttribute : std::uint8_t {
  name,
  label,
  operation,
  kind,
  task_class,
  duration_us,
  operation_duration_us,
  kernels,
  data_type,
  m,
  n,
  k,
  flops,
  bytes_read,
  bytes_written,
  layer,
  step,
  stage,
  microbatch
};
[[nodiscard]] const std::vector<std::string>& dot_attribute_names();

struct DotSetting {
  DotAttribute attribute;
  std::string value;
  std::size_t line;
};
/// Later settings count before earlier ones.
using DotSettings = std::vector<DotSetting>;

/// A node as it was written: its own settings, and the defaults where it was first named.
struct DotNode {
  std::string id;
  std::shared_ptr<const DotSettings> defaults;
  DotSettings own;
};

/// Makes tasks of nodes. Refuses, with file and line, what a value may not be.
class DotTasks {
 public:
  DotTasks(const DotScanner& scanner, std::size_t file_bytes)
      : scanner_(scanner), totals_(file_bytes) {}

  /// The next task of the builder.
  void add(TaskGraphBuilder& builder, const DotNode& node);

 private:
  [[nodiscard]] static const DotSetting* find(const DotNode& node, DotAttribute attribute);
  [[nodiscard]] std::int64_t integer(const DotNode& node,
                                     DotAttribute attribute,
                                     std::int64_t missing,
                                     std::int64_t maximum) const;
  [[nodiscard]] std::size_t word(const DotNode& node,
                                 DotAttribute attribute,
                                 const std::vector<std::string>& words,
                                 std::size_t missing) const;
  [[nodiscard]] Duration duration(const DotSetting& setting) const;
  [[nodiscard]] std::vector<Kernel> kernels(const DotNode& node, TaskKind task_kind);
  [[nodiscard]] std::vector<Kernel> listed_kernels(const DotSetting& setting);
  [[nodiscard]] Operation operation(const DotNode& node);
  [[noreturn]] void refuse(const DotSetting& setting, const std::string& expected) const;

  const DotScanner& scanner_;
  GraphTotals totals_;
  std::vector<Operation> operations_;
  std::map<std::string, std::vector<OperationId>> known_;  // by name
};

}  // namespace schedlab::detail
