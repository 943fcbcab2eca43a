// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_text.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"
#include "workloads/formats/graph_text_form.hpp"
#include "workloads/formats/graph_totals.hpp"
#include "workloads/formats/kernel_fields.hpp"
#include "workloads/formats/plain_digits.hpp"
#include "workloads/formats/task_class_words.hpp"
#include "workloads/formats/text_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t largest = detail::GraphTotals::largest_size;
constexpr std::int64_t longest = detail::GraphTotals::longest_duration;
constexpr std::int64_t max_plain_predecessors = 8;  // of a task that is read the short way
template <class Integer>
constexpr std::int64_t highest = std::numeric_limits<Integer>::max();

// Names stand at the end of a line, with characters that would break it as %XX.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string read_name(detail::TextScanner& scan) {
  const std::string_view text = scan.rest_of_line();
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    const bool complete = i + 2 < text.size();
    const int high = complete ? hex_digit(text[i + 1]) : -1;
    const int low = complete ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      scan.refuse("a lone \"%\" in a name",
                  "%XX with two digits 0-9, A-F (\"%25\" is a percent sign)");
    }
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : scan_(text, file), totals_(text.size()) {}

  [[nodiscard]] TaskGraph read() {
    read_header();
    operations_ = section("operations");
    for (std::int64_t i = 0; i < operations_; ++i) read_operation();
    tasks_ = section("tasks");
    builder_.reserve(static_cast<std::size_t>(tasks_), static_cast<std::size_t>(2 * tasks_));
    for (std::int64_t i = 0; i < tasks_; ++i) {
      if (!read_plain_task()) read_task();
    }
    scan_.skip_empty_lines();
    if (!scan_.at_end()) {
      const std::int64_t tensors = section("tensors");
      for (std::int64_t i = 0; i < tensors; ++i) read_tensor();
      scan_.skip_empty_lines();
      if (!scan_.at_end()) scan_.refuse("more lines", "the end of the file after the last tensor");
    }
    return std::move(builder_).build();
  }

 private:
  void read_header() {
    scan_.skip_empty_lines();
    const std::string_view word = scan_.word();
    if (word != detail::graph_text_magic) {
      scan_.refuse("another first word",
                   fmt::format("\"{} {}\"", detail::graph_text_magic, detail::graph_text_version));
    }
    (void)scan_.integer(
        detail::graph_text_version, detail::graph_text_version, "version of the format");
    scan_.next_line();
  }

  /// "NAME count": a line of the section needs at least 8 characters, so a larger count cannot be
  /// true.
  std::int64_t section(std::string_view name) {
    scan_.skip_empty_lines();
    if (scan_.word() != name) {
      scan_.refuse("another word", fmt::format("\"{}\" and how many", name));
    }
    const auto most = static_cast<std::int64_t>(scan_.remaining() / 5);
    const std::int64_t count = scan_.integer(0, most, "count of lines that follow");
    scan_.next_line();
    return count;
  }

  std::size_t choice(const std::vector<std::string>& words, const char* what) {
    const std::string word{scan_.word()};
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) {
      scan_.refuse(fmt::format("\"{}\"", word.substr(0, 40)),
                   fmt::format("{}: one of {}", what, fmt::join(words, ", ")),
                   did_you_mean(word, words));
    }
    return static_cast<std::size_t>(found - words.begin());
  }

  void read_operation() {
    Operation operation{.name = {}, .kernels = {}};
    operation.kind = static_cast<TaskKind>(choice(enum_names<TaskKind>(), "kind"));
    operation.task_class = static_cast<TaskClass>(choice(detail::task_class_names(), "class"));
    operation.fixed_duration = Duration{scan_.integer(0, longest, "duration in ps")};
    const auto most = static_cast<std::int64_t>(scan_.remaining() / 16);
    const std::int64_t kernels = scan_.integer(0, most, "number of kernels");
    for (std::int64_t i = 0; i < kernels; ++i) operation.kernels.push_back(read_kernel());
    operation.name = read_name(scan_);
    scan_.next_line();
    durations_.push_back(operation.fixed_duration.count());
    builder_.add_operation(std::move(operation));
  }

  KernelGrid read_grid() {
    (void)scan_.word();
    KernelGrid grid;
    grid.blocks = static_cast<std::uint32_t>(scan_.integer(0, detail::max_blocks, "blocks"));
    grid.block.threads =
        static_cast<std::uint16_t>(scan_.integer(0, detail::max_threads, "threads"));
    grid.block.registers =
        static_cast<std::uint16_t>(scan_.integer(0, detail::max_registers, "registers"));
    grid.block.shared_memory = static_cast<std::uint32_t>(
        scan_.integer(0, detail::max_shared_memory, "bytes of shared memory"));
    const double share = scan_.number("compute share");
    if (share > 1) scan_.refuse(fmt::format("{}", share), "a compute share from 0 to 1");
    grid.compute_share = static_cast<float>(share);
    return grid;
  }

  AttentionShape read_attention() {
    (void)scan_.word();
    const auto size = [&](const char* what) { return scan_.integer(0, largest, what); };
    AttentionShape shape;
    shape.sequences = size("sequences");
    shape.queries = size("queries");
    shape.keys = size("keys");
    shape.heads = size("heads");
    shape.kv_heads = size("kv_heads");
    shape.head = size("head");
    if (!is_valid(shape)) scan_.refuse("a shape of attention that none has", "counts above 0");
    return shape;
  }

  Kernel read_kernel() {
    Kernel kernel;
    if (scan_.peek() == '~') kernel.pageable = !scan_.word().empty();
    if (scan_.peek() == '@') kernel.grid = read_grid();
    if (scan_.peek() == '^') kernel.attention = read_attention();
    kernel.kind = static_cast<TaskKind>(choice(enum_names<TaskKind>(), "kind of a kernel"));
    kernel.type = static_cast<DataType>(choice(enum_names<DataType>(), "data type"));
    kernel.m = scan_.integer(0, largest, "m");
    kernel.n = scan_.integer(0, largest, "n");
    kernel.k = scan_.integer(0, largest, "k");
    kernel.flops = Flops{scan_.number("FLOPs")};
    kernel.bytes_read = Bytes{scan_.integer(0, largest, "bytes read")};
    kernel.bytes_written = Bytes{scan_.integer(0, largest, "bytes written")};
    if (!totals_.add_bytes(kernel.bytes_read.count() + kernel.bytes_written.count())) {
      scan_.refuse("more bytes than can be counted", "smaller kernels");
    }
    return kernel;
  }

  /// A line as the writer makes it, without extras; false, and nothing read, if it is anything
  /// else: then read_task() takes it, or says what is wrong.
  bool read_plain_task() {
    const char* at = scan_.plain_line();
    if (at == nullptr) return false;
    std::int64_t operation = 0;
    std::int64_t layer = 0;
    std::int64_t step = 0;
    std::int64_t duration = 0;
    std::int64_t count = 0;
    const bool fields = detail::plain_digits(at, operation) && *at++ == ' ' &&
                        detail::plain_digits_or_none(at, layer) && *at++ == ' ' &&
                        detail::plain_digits_or_none(at, step) && *at++ == ' ' &&
                        detail::plain_digits_or_none(at, duration) && *at++ == ' ' &&
                        detail::plain_digits(at, count);
    if (!fields || operation >= operations_ || layer > highest<std::int16_t> ||
        step > highest<std::int32_t> || duration > longest || count > max_plain_predecessors) {
      return false;
    }
    std::array<TaskId, max_plain_predecessors> predecessors;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t before = 0;
      if (*at++ != ' ' || !detail::plain_digits(at, before) || before >= tasks_) return false;
      predecessors[static_cast<std::size_t>(i)] = TaskId{static_cast<std::uint32_t>(before)};
    }
    const std::int64_t counted =
        duration >= 0 ? duration : durations_[static_cast<std::size_t>(operation)];
    if (*at != '\n' || !totals_.add_duration(counted)) return false;
    const TaskId task{static_cast<std::uint32_t>(builder_.task_count())};
    for (std::int64_t i = 0; i < count; ++i) {
      builder_.add_edge(predecessors[static_cast<std::size_t>(i)], task);
    }
    const OperationId id{static_cast<std::uint32_t>(operation)};
    const Tags tags{.layer = static_cast<std::int16_t>(layer),
                    .step = static_cast<std::int32_t>(step)};
    if (duration >= 0) {
      builder_.add_task(id, tags, Duration{duration});
    } else {
      builder_.add_task(id, tags);
    }
    scan_.take_plain_line(at + 1);
    return true;
  }

  void read_task() {
    const std::int64_t operation = scan_.integer(0, operations_ - 1, "operation");
    Tags tags;
    tags.layer = static_cast<std::int16_t>(
        scan_.integer(-1, std::numeric_limits<std::int16_t>::max(), "layer"));
    tags.step = static_cast<std::int32_t>(
        scan_.integer(-1, std::numeric_limits<std::int32_t>::max(), "step"));
    const std::int64_t duration = scan_.integer(-1, longest, "duration in ps");
    if (!totals_.add_duration(duration >= 0 ? duration
                                            : durations_[static_cast<std::size_t>(operation)])) {
      scan_.refuse("durations whose sum is beyond 26 days", "shorter tasks");
    }
    const TaskId task{static_cast<std::uint32_t>(builder_.task_count())};
    const std::int64_t predecessors = scan_.integer(0, tasks_, "number of predecessors");
    for (std::int64_t i = 0; i < predecessors; ++i) {
      builder_.add_edge(task_id("predecessor"), task);
    }
    const OperationId id{static_cast<std::uint32_t>(operation)};
    if (scan_.at_line_end()) {
      builder_.add_task(id, tags);
    } else {
      read_task_extras(id, tags);
    }
    if (duration >= 0) builder_.set_duration(task, Duration{duration});
    scan_.next_line();
  }

  void read_task_extras(OperationId operation, Tags tags) {
    if (scan_.peek() == '@') {
      (void)scan_.word();
      tags.stage = static_cast<std::int16_t>(
          scan_.integer(-1, std::numeric_limits<std::int16_t>::max(), "stage"));
      tags.microbatch = static_cast<std::int32_t>(
          scan_.integer(-1, std::numeric_limits<std::int32_t>::max(), "microbatch"));
    }
    if (scan_.peek() == '#') {
      (void)scan_.word();
      builder_.add_task(operation, tags, read_name(scan_));
    } else {
      builder_.add_task(operation, tags);
    }
  }

  void read_tensor() {
    TensorInfo info;
    info.bytes = Bytes{scan_.integer(0, largest, "bytes")};
    const std::int64_t flags = scan_.integer(0, 3, "flags (1 accumulate, 2 persistent)");
    info.accumulate = (flags & 1) != 0;
    info.persistent = (flags & 2) != 0;
    std::array<std::vector<TaskId>, 2> uses;
    for (auto& tasks : uses) {
      const std::int64_t count = scan_.integer(0, tasks_, "number of tasks");
      for (std::int64_t i = 0; i < count; ++i) tasks.push_back(task_id("task"));
    }
    if (uses[0].size() > 1 && !info.accumulate) {
      scan_.refuse(fmt::format("{} writers", uses[0].size()),
                   "one writer, or flag 1: several tasks may add into it");
    }
    if (!totals_.add_bytes(info.bytes.count())) {
      scan_.refuse("more bytes in tensors than can be counted", "smaller tensors");
    }
    if (!totals_.add_pairs(uses[0].size(), uses[1].size())) {
      scan_.refuse("too many pairs of a writer and a reader of one tensor",
                   "fewer writers or readers");
    }
    info.name = read_name(scan_);
    scan_.next_line();
    const TensorId id = builder_.add_tensor(std::move(info));
    for (const TaskId task : uses[0]) builder_.writes(task, id);
    for (const TaskId task : uses[1]) builder_.reads(task, id);
  }

  TaskId task_id(const char* what) {
    return TaskId{static_cast<std::uint32_t>(scan_.integer(0, tasks_ - 1, what))};
  }

  detail::TextScanner scan_;
  TaskGraphBuilder builder_;
  std::int64_t operations_ = 0;
  std::int64_t tasks_ = 0;
  detail::GraphTotals totals_;
  std::vector<std::int64_t> durations_;  // ps, of operations
};

}  // namespace

TaskGraph read_graph_text(std::string_view text, const std::string& file) {
  try {
    return Reader{text, file}.read();
  } catch (const InputError& error) {
    if (!error.problem().file.empty()) throw;
    InputProblem problem = error.problem();  // a cycle, found by the builder
    problem.file = file;
    throw InputError(problem);
  }
}

}  // namespace schedlab
