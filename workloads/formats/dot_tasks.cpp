// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/dot_tasks.hpp"

#include "sim/base/error.hpp"
#include "workloads/formats/task_class_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace schedlab::detail {
namespace {

using enum DotAttribute;

constexpr double longest_us = static_cast<double>(GraphTotals::longest_duration) * 1e-6;

bool only_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_own(const DotNode& node, const DotSetting& setting) {
  return std::any_of(
      node.own.begin(), node.own.end(), [&](const DotSetting& own) { return &own == &setting; });
}

/// The whole text as a number; NaN if it is none.
double to_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

bool to_integer(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

const std::vector<std::string>& dot_attribute_names() {
  static const std::vector<std::string> names{"name",
                                              "label",
                                              "operation",
                                              "kind",
                                              "class",
                                              "duration_us",
                                              "operation_duration_us",
                                              "kernels",
                                              "data_type",
                                              "m",
                                              "n",
                                              "k",
                                              "flops",
                                              "bytes_read",
                                              "bytes_written",
                                              "layer",
                                              "step",
                                              "stage",
                                              "microbatch"};
  return names;
}

void DotTasks::refuse(const DotSetting& setting, const std::string& expected) const {
  constexpr std::size_t longest = 60;
  scanner_.refuse(fmt::format("{}=\"{}{}\"",
                              dot_attribute_names()[static_cast<std::size_t>(setting.attribute)],
                              setting.value.substr(0, longest),
                              setting.value.size() > longest ? "..." : ""),
                  expected,
                  {},
                  setting.line);
}

const DotSetting* DotTasks::find(const DotNode& node, DotAttribute attribute) {
  const auto latest = [&](const DotSettings& settings) -> const DotSetting* {
    const auto found = std::find_if(settings.rbegin(), settings.rend(), [&](const DotSetting& s) {
      return s.attribute == attribute;
    });
    return found == settings.rend() ? nullptr : &*found;
  };
  const DotSetting* own = latest(node.own);
  return own != nullptr || !node.defaults ? own : latest(*node.defaults);
}

std::int64_t DotTasks::integer(const DotNode& node,
                               DotAttribute attribute,
                               std::int64_t missing,
                               std::int64_t maximum) const {
  const DotSetting* setting = find(node, attribute);
  if (setting == nullptr) return missing;
  std::int64_t value = 0;
  if (!to_integer(setting->value, value) || value < 0 || value > maximum) {
    refuse(*setting, fmt::format("a whole number from 0 to {}", maximum));
  }
  return value;
}

std::size_t DotTasks::word(const DotNode& node,
                           DotAttribute attribute,
                           const std::vector<std::string>& words,
                           std::size_t missing) const {
  const DotSetting* setting = find(node, attribute);
  if (setting == nullptr) return missing;
  const auto found = std::find(words.begin(), words.end(), setting->value);
  if (found == words.end()) {
    const std::string close = closest_spelling(setting->value, words);
    refuse(*setting,
           fmt::format("one of {}{}",
                       fmt::join(words, ", "),
                       close.empty() ? "" : fmt::format("; did you mean \"{}\"?", close)));
  }
  return static_cast<std::size_t>(found - words.begin());
}

/// Plain decimals exactly, which floating-point numbers above 2^53 ps are not.
Duration DotTasks::duration(const DotSetting& setting) const {
  constexpr std::size_t decimals = 6;
  const std::string_view text = setting.value;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = text.substr(std::min(point + 1, text.size()));
  std::int64_t us = 0;
  if (!whole.empty() && only_digits(whole) && only_digits(part) && part.size() <= decimals &&
      to_integer(whole, us) && us < GraphTotals::longest_duration / 1'000'000) {
    std::string digits{part};
    digits.resize(decimals, '0');
    std::int64_t ps = 0;
    (void)to_integer(digits, ps);
    return Duration{us * 1'000'000 + ps};
  }
  const double number = to_number(text);
  if (!(number >= 0 && number <= longest_us)) {
    refuse(setting, fmt::format("microseconds from 0 to {}", longest_us));
  }
  return Duration{std::llround(number * 1e6)};
}

/// The notation of the compact text form, kernels separated by semicolons: "gemm fp32 2 8 32 1024
/// 1280 64" (kind, data type, m, n, k, FLOPs, bytes read, bytes written); "@" and a grid first
/// where a kernel has its own, "~" before that where a copy is one of pageable memory, "^" and a
/// shape behind it where it is attention.
// NOLINTNEXTLINE(readability-function-size): reads one notation, word by word
std::vector<Kernel> DotTasks::listed_kernels(const DotSetting& setting) {
  constexpr std::string_view form =
      "kernels separated by \";\", each of kind, data type, m, n, k, FLOPs, bytes read, bytes "
      "written, after \"@\", blocks, threads, registers, bytes of shared memory and compute share "
      "where it has a grid of its own, after \"^\" sequences, queries, keys, heads, kv_heads and "
      "elements of a head where it is attention";
  std::vector<Kernel> list;
  std::string_view rest = setting.value;
  const auto skip_blanks = [&rest] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  };
  const auto next_word = [&] {
    skip_blanks();
    const std::size_t length = std::min(rest.find_first_of(" ;"), rest.size());
    const std::string_view found = rest.substr(0, length);
    rest.remove_prefix(length);
    return found;
  };
  const auto listed = [&](std::string_view given, const std::vector<std::string>& words) {
    const auto found = std::find(words.begin(), words.end(), given);
    if (found == words.end()) refuse(setting, std::string{form});
    return static_cast<std::size_t>(found - words.begin());
  };
  const auto whole = [&](std::int64_t most) {
    std::int64_t value = 0;
    if (!to_integer(next_word(), value) || value < 0 || value > most) {
      refuse(setting, std::string{form});
    }
    return value;
  };
  const auto size = [&] { return whole(GraphTotals::largest_size); };
  const auto number = [&](double most) {
    const double value = to_number(next_word());
    if (!(value >= 0 && value <= most)) refuse(setting, std::string{form});
    return value;
  };
  for (;;) {
    Kernel kernel;
    std::string_view first = next_word();
    kernel.pageable = first == "~";
    if (kernel.pageable) first = next_word();
    if (first == "@") {
      kernel.grid.blocks = static_cast<std::uint32_t>(whole(max_blocks));
      kernel.grid.block.threads = static_cast<std::uint16_t>(whole(max_threads));
      kernel.grid.block.registers = static_cast<std::uint16_t>(whole(max_registers));
      kernel.grid.block.shared_memory = static_cast<std::uint32_t>(whole(max_shared_memory));
      kernel.grid.compute_share = static_cast<float>(number(1));
      first = next_word();
    }
    if (first == "^") {
      AttentionShape& shape = kernel.attention;
      for (std::int64_t* const member : {&shape.sequences,
                                         &shape.queries,
                                         &shape.keys,
                                         &shape.heads,
                                         &shape.kv_heads,
                                         &shape.head}) {
        *member = size();
      }
      if (!is_valid(shape)) refuse(setting, std::string{form});
      first = next_word();
    }
    kernel.kind = static_cast<TaskKind>(listed(first, enum_names<TaskKind>()));
    kernel.type = static_cast<DataType>(listed(next_word(), enum_names<DataType>()));
    kernel.m = size();
    kernel.n = size();
    kernel.k = size();
    kernel.flops = Flops{number(std::numeric_limits<double>::max())};
    kernel.bytes_read = Bytes{size()};
    kernel.bytes_written = Bytes{size()};
    if (!totals_.add_bytes(kernel.bytes_read.count()) ||
        !totals_.add_bytes(kernel.bytes_written.count())) {
      refuse(setting, "fewer bytes in all kernels together");
    }
    list.push_back(kernel);
    skip_blanks();
    if (rest.empty()) return list;
    if (rest.front() != ';') refuse(setting, std::string{form});
    rest.remove_prefix(1);
  }
}

/// One kernel of the node's kind from m, n, k, flops, bytes_read and bytes_written; a product's
/// work follows from its shape unless it is given.
std::vector<Kernel> DotTasks::kernels(const DotNode& node, TaskKind task_kind) {
  if (const DotSetting* setting = find(node, DotAttribute::kernels))
    return listed_kernels(*setting);
  constexpr std::int64_t most = GraphTotals::largest_size;
  const DotSetting* first = nullptr;
  for (const DotAttribute attribute : {m, n, k, flops, bytes_read, bytes_written}) {
    const DotSetting* const found = find(node, attribute);
    if (found != nullptr && (first == nullptr || is_own(node, *found))) first = found;
  }
  if (first == nullptr) return {};
  if (task_kind == TaskKind::fixed || task_kind == TaskKind::host ||
      task_kind == TaskKind::composite) {
    // Defaults may be meant for other nodes.
    if (!is_own(node, *first)) return {};
    refuse(*first, "a node with a kind of one kernel, gemm or pointwise for instance");
  }
  const auto type = static_cast<DataType>(
      word(node, data_type, enum_names<DataType>(), static_cast<std::size_t>(DataType::fp32)));
  Kernel kernel{.kind = task_kind, .type = type};
  if (task_kind == TaskKind::gemm) {
    const std::int64_t rows = integer(node, m, 0, most);
    const std::int64_t columns = integer(node, n, 0, most);
    const std::int64_t inner = integer(node, k, 0, most);
    if (rows == 0 || columns == 0 || inner == 0) {
      refuse(*first, "m, n and k of a gemm, each at least 1");
    }
    kernel = gemm_kernel(rows, columns, inner, type, false);
  }
  if (const DotSetting* setting = find(node, flops)) {
    const double value = to_number(setting->value);
    if (!(value >= 0 && value <= std::numeric_limits<double>::max())) {
      refuse(*setting, "a number of at least 0");
    }
    kernel.flops = Flops{value};
  }
  if (find(node, bytes_read) != nullptr)
    kernel.bytes_read = Bytes{integer(node, bytes_read, 0, most)};
  if (find(node, bytes_written) != nullptr) {
    kernel.bytes_written = Bytes{integer(node, bytes_written, 0, most)};
  }
  if (kernel.bytes_read.count() > most || kernel.bytes_written.count() > most ||
      !totals_.add_bytes(kernel.bytes_read.count()) ||
      !totals_.add_bytes(kernel.bytes_written.count())) {
    refuse(*first, fmt::format("kernels of at most {} bytes, and fewer in all together", most));
  }
  return {kernel};
}

Operation DotTasks::operation(const DotNode& node) {
  Operation made{.name = "task", .kernels = {}};
  if (const DotSetting* setting = find(node, DotAttribute::operation)) made.name = setting->value;
  made.kind = static_cast<TaskKind>(
      word(node, kind, enum_names<TaskKind>(), static_cast<std::size_t>(TaskKind::fixed)));
  made.task_class = static_cast<TaskClass>(word(node, task_class, detail::task_class_names(), 0));
  made.kernels = kernels(node, made.kind);
  if (const DotSetting* setting = find(node, operation_duration_us)) {
    made.fixed_duration = duration(*setting);
  }
  return made;
}

void DotTasks::add(TaskGraphBuilder& builder, const DotNode& node) {
  Operation made = operation(node);
  OperationId id;
  std::vector<OperationId>& same_name = known_[made.name];
  for (const OperationId known : same_name) {
    if (operations_[known.value()] == made) id = known;
  }
  constexpr std::size_t max_alike = 64;  // nodes that differ in everything share no operation
  if (!id.valid()) {
    id = builder.add_operation(made);
    if (same_name.size() < max_alike) same_name.push_back(id);
    operations_.push_back(std::move(made));
  }
  constexpr std::int64_t most32 = std::numeric_limits<std::int32_t>::max();
  const Tags tags{.layer = static_cast<std::int16_t>(
                      integer(node, layer, -1, std::numeric_limits<std::int16_t>::max())),
                  .stage = static_cast<std::int16_t>(
                      integer(node, stage, -1, std::numeric_limits<std::int16_t>::max())),
                  .step = static_cast<std::int32_t>(integer(node, step, -1, most32)),
                  .microbatch = static_cast<std::int32_t>(integer(node, microbatch, -1, most32))};
  const DotSetting* title = find(node, name);
  if (title == nullptr) {
    title = find(node, label);
    // "\N" is Graphviz's word for the node's own name.
    if (title != nullptr && title->value.find("\\N") != std::string::npos) title = nullptr;
  }
  const bool own_name = title == nullptr;
  TaskId task;
  if (!own_name) {
    task = builder.add_task(id, tags, title->value);
  } else if (only_digits(node.id)) {
    task = builder.add_task(id, tags);
  } else {
    task = builder.add_task(id, tags, node.id);
  }
  const DotSetting* given = find(node, duration_us);
  const Duration length =
      given != nullptr ? duration(*given) : operations_[id.value()].fixed_duration;
  if (given != nullptr) builder.set_duration(task, length);
  if (!totals_.add_duration(length.count())) {
    refuse(given != nullptr ? *given : *find(node, operation_duration_us),
           "tasks that take less than 26 days together");
  }
}

}  // namespace schedlab::detail
