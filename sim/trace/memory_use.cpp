// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/memory_use.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/tensor_life.hpp"
#include "sim/trace/time_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t never = TensorLife::never;
constexpr std::size_t max_named_holders = 5;

/// What begins or ends its life with one span.
struct Change {
  DeviceId device;
  std::int64_t bytes;
};

class MemorySweep {
 public:
  MemorySweep(const Problem& problem, const Trace& trace)
      : problem_(problem), tensors_(problem.graph.tensors()), trace_(trace) {
    const std::size_t count = trace.tasks.size();
    std::vector<std::uint32_t> span_of(problem.graph.task_count(), never);
    for (std::uint32_t i = 0; i < count; ++i) {
      const TaskSpan& span = trace.tasks[i];
      SCHEDLAB_EXPECTS(span.task.value() < span_of.size(), fmt::format("span {}", i));
      span_of[span.task.value()] = i;
      starts_.push_back(span.started.time_since_epoch().count());
      ends_.push_back(span.ended.time_since_epoch().count());
    }
    for (const TensorId tensor : tensors_.ids()) {
      lives_.push_back(tensor_life(tensors_, tensor, span_of, starts_, ends_));
    }
    started_at_.assign(count, 0);
    ended_at_.assign(count, 0);
    for (const DeviceId id : problem.platform.device_ids()) {
      const Device& device = problem.platform.device(id);
      memory_.push_back({.device = problem.platform.device_name(id),
                         .capacity = device.memory_capacity,
                         .curve = {},
                         .holders = {}});
    }
    peak_step_.assign(memory_.size(), 0);
  }

  [[nodiscard]] std::vector<DeviceMemory> run() && {
    collect_changes();
    std::vector<Bytes> held;
    for (DeviceMemory& device : memory_) {
      device.peak = device.persistent;
      device.curve.push_back({Time{}, device.persistent});
      held.push_back(device.persistent);
    }
    held_ = std::move(held);
    sweep();
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i].holders = holders(i);
    return std::move(memory_);
  }

 private:
  [[nodiscard]] DeviceId home_of(TensorId tensor) const {
    const std::uint32_t first = lives_[tensor].first;
    return first == never ? DeviceId{0} : trace_.tasks[first].device;
  }
  /// A life of length 0 holds nothing.
  [[nodiscard]] bool lives(TensorId tensor) const {
    const TensorLife& life = lives_[tensor];
    return life.first != never && ends_[life.last] > starts_[life.first];
  }

  void collect_changes() {
    const std::size_t count = trace_.tasks.size();
    begins_.resize(count);
    frees_.resize(count);
    for (const TensorId tensor : tensors_.ids()) {
      const Bytes bytes = tensors_.bytes(tensor);
      if (tensors_.persistent(tensor)) {
        memory_[home_of(tensor).value()].persistent += bytes;
      } else if (lives(tensor)) {
        begins_[lives_[tensor].first] += bytes;
        frees_[lives_[tensor].last].push_back({home_of(tensor), bytes.count()});
      }
    }
  }

  /// In the order in which Summarizer counts: ends before starts, each by the order of the trace.
  void sweep() {
    TimeOrder start_order;
    TimeOrder end_order;
    const auto by_start = start_order.by_time(starts_);
    std::size_t started = 0;
    for (const std::uint32_t ending : end_order.by_time(ends_)) {
      for (; started < by_start.size() && starts_[by_start[started]] < ends_[ending]; ++started) {
        start(by_start[started]);
      }
      if (starts_[ending] < ends_[ending]) end(ending);
    }
    for (; started < by_start.size(); ++started) start(by_start[started]);
  }

  void start(std::uint32_t span) {
    started_at_[span] = ++step_;
    const auto device = trace_.tasks[span].device.value();
    if (begins_[span].count() != 0) {
      change(device, starts_[span], begins_[span]);
      if (held_[device] > memory_[device].peak) {
        memory_[device].peak = held_[device];
        memory_[device].peak_at = trace_.tasks[span].started;
        peak_step_[device] = step_;
      }
    }
    if (starts_[span] == ends_[span]) end(span);
  }

  void end(std::uint32_t span) {
    ended_at_[span] = ++step_;
    for (const Change& free : frees_[span]) {
      change(free.device.value(), ends_[span], Bytes{-free.bytes});
    }
  }

  void change(std::uint32_t device, std::int64_t at, Bytes bytes) {
    if (bytes.count() == 0) return;
    held_[device] += bytes;
    std::vector<MemoryPoint>& curve = memory_[device].curve;
    const Time time{Duration{at}};
    if (curve.back().at == time) {
      curve.back().held = held_[device];
      const std::size_t last = curve.size() - 1;
      if (last > 0 && curve[last - 1].held == curve[last].held) curve.pop_back();
    } else {
      curve.push_back({time, held_[device]});
    }
  }

  [[nodiscard]] std::string kind_of(TensorId tensor) const {
    const std::string name = tensors_.name(tensor);
    std::string stem = name.substr(0, name.find_first_of("([{#"));
    if (!stem.empty()) return stem;
    const auto writers = tensors_.writers(tensor);
    const auto users = writers.empty() ? tensors_.readers(tensor) : writers;
    if (users.empty()) return "unused";
    return fmt::format("{} {}",
                       writers.empty() ? "input of" : "output of",
                       problem_.graph.operation(users.front()).name);
  }

  [[nodiscard]] std::vector<MemoryHolder> holders(std::size_t device) const {
    const std::uint64_t peak = peak_step_[device];
    std::map<std::string, MemoryHolder> by_kind;
    for (const TensorId tensor : tensors_.ids()) {
      if (home_of(tensor).value() != device) continue;
      const TensorLife& life = lives_[tensor];
      const bool held =
          tensors_.persistent(tensor) ||
          (lives(tensor) && started_at_[life.first] <= peak && ended_at_[life.last] > peak);
      if (!held) continue;
      MemoryHolder& holder = by_kind[kind_of(tensor)];
      ++holder.tensors;
      holder.bytes += tensors_.bytes(tensor);
    }
    std::vector<MemoryHolder> result;
    for (auto& [kind, holder] : by_kind) {
      holder.name = kind;
      if (holder.bytes.count() > 0) result.push_back(std::move(holder));
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
      return a.bytes > b.bytes;
    });
    return result;
  }

  const Problem& problem_;
  const TensorTable& tensors_;
  const Trace& trace_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> ends_;
  IdVector<TensorId, TensorLife> lives_;
  std::vector<Bytes> begins_;               // bytes that come to life with a span
  std::vector<std::vector<Change>> frees_;  // what a span was the last to use
  std::vector<std::uint64_t> started_at_;   // step of the sweep in which a span starts
  std::vector<std::uint64_t> ended_at_;
  std::vector<std::uint64_t> peak_step_;  // by device
  std::uint64_t step_ = 0;
  std::vector<Bytes> held_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace

TensorLife tensor_life(const TensorTable& tensors,
                       TensorId tensor,
                       std::span<const std::uint32_t> span_of,
                       std::span<const std::int64_t> starts,
                       std::span<const std::int64_t> ends) {
  return inlined_tensor_life(tensors, tensor, span_of, starts, ends);
}

std::vector<DeviceMemory> memory_use(const Problem& problem, const Trace& trace) {
  if (problem.graph.tensors().empty()) return {};
  return MemorySweep{problem, trace}.run();
}

std::vector<Bytes> memory_in_slices(const std::vector<MemoryPoint>& curve,
                                    Time end,
                                    std::size_t count) {
  const std::int64_t whole = end.time_since_epoch().count();
  if (curve.empty() || whole <= 0 || count == 0) return {};
  std::vector<Bytes> slices(count);
  const double width = static_cast<double>(whole) / static_cast<double>(count);
  const auto slice_of = [&](double picosecond) {
    return std::min(static_cast<std::size_t>(picosecond / width), count - 1);
  };
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const std::int64_t from = curve[i].at.time_since_epoch().count();
    const std::int64_t until =
        i + 1 < curve.size() ? curve[i + 1].at.time_since_epoch().count() : whole;
    if (from >= until) continue;
    const std::size_t last = slice_of(static_cast<double>(until) - 0.5);
    for (std::size_t slice = slice_of(static_cast<double>(from)); slice <= last; ++slice) {
      slices[slice] = std::max(slices[slice], curve[i].held);
    }
  }
  return slices;
}

std::string readable_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 2, units[unit]);
}

void expect_memory_suffices(const std::vector<DeviceMemory>& memory) {
  for (const DeviceMemory& device : memory) {
    if (!device.exceeded()) continue;
    std::string named;
    Bytes rest = device.peak;
    for (std::size_t i = 0; i < std::min(max_named_holders, device.holders.size()); ++i) {
      const MemoryHolder& holder = device.holders[i];
      named += fmt::format("{}{} {} ({} tensor{})",
                           i == 0 ? "" : ", ",
                           holder.name,
                           readable_bytes(holder.bytes),
                           holder.tensors,
                           holder.tensors == 1 ? "" : "s");
      rest -= holder.bytes;
    }
    if (rest.count() > 0) named += fmt::format(", others {}", readable_bytes(rest));
    const std::string needed = readable_bytes(device.peak);
    const std::string available = readable_bytes(device.capacity);
    throw InfeasibleError(
        fmt::format("out of memory: device \"{}\" has {}, this run needs {} at {:.3f} us\n  held "
                    "there: {}\n  take a smaller batch, another policy or a larger machine, or "
                    "\"memory\": \"ignore\"",
                    device.device,
                    available,
                    needed,
                    to_us(device.peak_at),
                    named),
        "memory of device " + device.device,
        needed,
        available);
  }
}

}  // namespace schedlab
