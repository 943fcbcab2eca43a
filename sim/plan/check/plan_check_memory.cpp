// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::checker {
namespace {

constexpr std::size_t holders_shown = 5;

/// In which steps of the launch order a tensor is held, and where. Unused: begin == never.
struct Lifetime {
  std::uint32_t begin = never;
  std::uint32_t end = 0;  ///< the last step in which it is held
  DeviceId device{0};
};

struct Usage {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  std::uint32_t peak_step = 0;
};

class MemoryCheck {
 public:
  MemoryCheck(const PlanIndex& index, const std::vector<TaskId>& order)
      : index_(index), tensors_(index.graph().tensors()), order_(order) {
    IdVector<TaskId, std::uint32_t> step_of(index.graph().task_count(), never);
    for (std::uint32_t step = 0; step < order.size(); ++step) step_of[order[step]] = step;
    for (const TensorId tensor : tensors_.ids()) lifetimes_.push_back(lifetime(tensor, step_of));
  }

  void run() {
    usage_.resize(index_.platform().device_count());
    const auto steps = static_cast<std::uint32_t>(order_.size());
    std::vector<std::int64_t> begins(steps, 0);
    std::vector<std::uint32_t> ends_offset(steps + 1, 0);
    for (const TensorId tensor : tensors_.ids()) {
      const Lifetime& life = lifetimes_[tensor];
      if (tensors_.persistent(tensor)) {
        usage_[life.device].now += tensors_.bytes(tensor).count();
      } else if (life.begin != never) {
        begins[life.begin] += tensors_.bytes(tensor).count();
        ++ends_offset[life.end + 1];
      }
    }
    for (std::uint32_t i = 0; i < steps; ++i) ends_offset[i + 1] += ends_offset[i];
    std::vector<TensorId> ends(ends_offset.back());
    std::vector<std::uint32_t> next(ends_offset.begin(), ends_offset.end() - 1);
    for (const TensorId tensor : tensors_.ids()) {
      const Lifetime& life = lifetimes_[tensor];
      if (tensors_.persistent(tensor) || life.begin == never) continue;
      ends[next[life.end]++] = tensor;
    }
    for (Usage& usage : usage_) usage.peak = usage.now;
    for (std::uint32_t step = 0; step < steps; ++step) {
      Usage& usage = usage_[device_of(order_[step])];
      usage.now += begins[step];
      if (usage.now > usage.peak) {
        usage.peak = usage.now;
        usage.peak_step = step;
      }
      for (std::uint32_t i = ends_offset[step]; i < ends_offset[step + 1]; ++i) {
        usage_[lifetimes_[ends[i]].device].now -= tensors_.bytes(ends[i]).count();
      }
    }
  }

  void report(FindingList& findings) const {
    for (const DeviceId device : usage_.ids()) {
      const std::int64_t available = index_.platform().device(device).memory_capacity.count();
      const Usage& usage = usage_[device];
      if (available == 0 || usage.peak <= available) continue;
      CallSite site{HostId::none(), 0};
      std::string at;
      if (!order_.empty()) {
        const TaskId task = order_[usage.peak_step];
        site = index_.site(index_.launch_of(task));
        at = fmt::format(" at task {}", index_.graph().name(task));
      }
      findings.add(FindingKind::out_of_memory, site.host, site.call, [&] {
        return fmt::format("device {} needs {}{} and has {}; largest holders: {}",
                           device.value(),
                           bytes_text(usage.peak),
                           at,
                           bytes_text(available),
                           holders(device, usage.peak_step));
      });
    }
  }

 private:
  [[nodiscard]] DeviceId device_of(TaskId task) const {
    const DeviceId device = index_.plan().streams[index_.stream_of(task)].device;
    // A device that does not exist is reported as malformed; any will do to go on.
    return index_.platform().has_device(device) ? device : DeviceId{0};
  }

  [[nodiscard]] Lifetime lifetime(TensorId tensor,
                                  const IdVector<TaskId, std::uint32_t>& step_of) const {
    Lifetime life;
    std::uint32_t last_read = never;
    std::uint32_t last_write = never;
    const auto widen = [&](std::span<const TaskId> tasks, std::uint32_t& last, bool begins) {
      for (const TaskId task : tasks) {
        const std::uint32_t step = step_of[task];
        if (step == never) continue;
        last = last == never ? step : std::max(last, step);
        if (begins) life.begin = std::min(life.begin, step);
      }
    };
    widen(tensors_.writers(tensor), last_write, true);
    widen(tensors_.readers(tensor), last_read, life.begin == never);
    if (life.begin == never) return life;
    // A read before the write is an error that is reported as such; the life time must not be
    // negative.
    life.end = std::max(life.begin, last_read == never ? last_write : last_read);
    life.device = device_of(order_[life.begin]);
    return life;
  }

  [[nodiscard]] std::string holders(DeviceId device, std::uint32_t step) const {
    std::vector<TensorId> held;
    for (const TensorId tensor : tensors_.ids()) {
      const Lifetime& life = lifetimes_[tensor];
      const bool lives = life.begin != never && life.begin <= step && step <= life.end;
      if (life.device == device && (lives || tensors_.persistent(tensor))) held.push_back(tensor);
    }
    const std::size_t shown = std::min(holders_shown, held.size());
    std::partial_sort(held.begin(),
                      held.begin() + static_cast<std::ptrdiff_t>(shown),
                      held.end(),
                      [&](TensorId a, TensorId b) {
                        const auto bytes_a = tensors_.bytes(a);
                        const auto bytes_b = tensors_.bytes(b);
                        return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
                      });
    std::string text;
    std::int64_t rest = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const std::int64_t bytes = tensors_.bytes(held[i]).count();
      if (i >= shown) {
        rest += bytes;
        continue;
      }
      text += fmt::format(
          "{}{} {}", i == 0 ? "" : ", ", tensor_name(index_.graph(), held[i]), bytes_text(bytes));
    }
    if (held.size() > shown) {
      text += fmt::format(", and {} more with {}", held.size() - shown, bytes_text(rest));
    }
    return text;
  }

  const PlanIndex& index_;
  const TensorTable& tensors_;
  const std::vector<TaskId>& order_;
  IdVector<TensorId, Lifetime> lifetimes_;
  IdVector<DeviceId, Usage> usage_;
};

}  // namespace

void check_memory(const PlanIndex& index,
                  const std::vector<TaskId>& launch_order,
                  FindingList& findings) {
  const auto& devices = index.platform().devices;
  const bool limited = std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return device.memory_capacity.count() > 0;
  });
  if (!limited || index.graph().tensors().empty()) return;
  MemoryCheck memory(index, launch_order);
  memory.run();
  memory.report(findings);
}

}  // namespace schedlab::checker
