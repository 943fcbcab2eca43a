// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/memory_plan.hpp"

#include "sim/base/fields.hpp"
#include "sim/trace/memory_use.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t max_nodes = 30'000;
constexpr Bytes arena_alignment{512};  // assumed: as aclrtMalloc and PyTorch's allocator round up
constexpr std::uint32_t no_node = 0xFFFF'FFFFU;

Bytes aligned(Bytes bytes) {
  const std::int64_t unit = arena_alignment.count();
  return Bytes{(bytes.count() + unit - 1) / unit * unit};
}

/// Which nodes of a device graph are complete before which.
class NodeOrder {
 public:
  explicit NodeOrder(const DeviceGraph& graph)
      : words_((graph.node_count() + 63) / 64), before_(graph.node_count() * words_, 0) {
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      for (const std::uint32_t need : graph.needs(node)) {
        for (std::size_t w = 0; w < words_; ++w) {
          before_[node * words_ + w] |= before_[need * words_ + w];
        }
        before_[node * words_ + need / 64] |= std::uint64_t{1} << (need % 64);
      }
    }
  }
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const {
    return (before_[b * words_ + a / 64] >> (a % 64) & 1U) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> before_;  // [node][word of nodes before it]
};

/// A tensor that shares the arena.
struct Tenant {
  PlacedTensor placed;
  std::vector<std::uint32_t> users;  // nodes
  std::vector<std::uint32_t> first;  // those that begin its life
};

class ArenaPlanner {
 public:
  ArenaPlanner(const DeviceGraph& graph, std::vector<Tenant>& tenants)
      : order_(graph), tenants_(tenants) {}

  /// Sets offsets; the arena's size.
  [[nodiscard]] Bytes place() {
    std::vector<std::size_t> by_size(tenants_.size());
    for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      return tenants_[a].placed.bytes > tenants_[b].placed.bytes;
    });
    Bytes size{0};
    std::vector<std::size_t> by_offset;  // placed so far
    for (const std::size_t i : by_size) {
      PlacedTensor& tensor = tenants_[i].placed;
      tensor.offset = lowest_free(i, by_offset);
      size = std::max(size, tensor.offset + tensor.bytes);
      by_offset.insert(std::upper_bound(by_offset.begin(),
                                        by_offset.end(),
                                        i,
                                        [&](std::size_t a, std::size_t b) {
                                          return tenants_[a].placed.offset <
                                                 tenants_[b].placed.offset;
                                        }),
                       i);
    }
    return size;
  }

 private:
  [[nodiscard]] bool ends_before(const Tenant& a, const Tenant& b) const {
    return std::all_of(a.users.begin(), a.users.end(), [&](std::uint32_t user) {
      return std::all_of(b.first.begin(), b.first.end(), [&](std::uint32_t first) {
        return order_.before(user, first);
      });
    });
  }

  [[nodiscard]] Bytes lowest_free(std::size_t i, const std::vector<std::size_t>& by_offset) const {
    const Tenant& tenant = tenants_[i];
    Bytes offset{0};
    for (const std::size_t other : by_offset) {
      const PlacedTensor& placed = tenants_[other].placed;
      if (placed.offset >= offset + tenant.placed.bytes) break;
      if (placed.offset + placed.bytes <= offset) continue;
      if (ends_before(tenants_[other], tenant) || ends_before(tenant, tenants_[other])) continue;
      offset = placed.offset + placed.bytes;
    }
    return offset;
  }

  NodeOrder order_;
  std::vector<Tenant>& tenants_;
};

/// Places and frees tensors as time passes.
class BestFit {
 public:
  /// The arena's size and the most that is held at once. Ends come before starts.
  [[nodiscard]] std::pair<Bytes, Bytes> run(const std::vector<Tenant>& tenants) {
    struct Change {
      Time at;
      bool starts;
      std::size_t tenant;
    };
    std::vector<Change> changes;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const PlacedTensor& tensor = tenants[i].placed;
      if (tensor.until <= tensor.from) continue;
      changes.push_back({tensor.from, true, i});
      changes.push_back({tensor.until, false, i});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair{a.at, a.starts} < std::pair{b.at, b.starts};
    });
    std::vector<std::int64_t> at(tenants.size(), 0);
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (const Change& change : changes) {
      const std::int64_t bytes = tenants[change.tenant].placed.bytes.count();
      held += change.starts ? bytes : -bytes;
      most = std::max(most, held);
      if (change.starts) {
        at[change.tenant] = take(bytes);
      } else {
        give(at[change.tenant], bytes);
      }
    }
    return {Bytes{size_}, Bytes{most}};
  }

 private:
  [[nodiscard]] std::int64_t take(std::int64_t bytes) {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= bytes && (best == holes_.end() || hole->second < best->second)) {
        best = hole;
      }
    }
    if (best == holes_.end()) {
      // The arena grows; a hole at its end is part of what is taken.
      std::int64_t offset = size_;
      if (!holes_.empty()) {
        const auto last = std::prev(holes_.end());
        if (last->first + last->second == size_) {
          offset = last->first;
          holes_.erase(last);
        }
      }
      size_ = offset + bytes;
      return offset;
    }
    const auto [offset, length] = *best;
    holes_.erase(best);
    if (length > bytes) holes_.emplace(offset + bytes, length - bytes);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t bytes) {
    auto after = holes_.lower_bound(offset);
    if (after != holes_.end() && offset + bytes == after->first) {
      bytes += after->second;
      after = holes_.erase(after);
    }
    if (after != holes_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    holes_.emplace(offset, bytes);
  }

  std::map<std::int64_t, std::int64_t> holes_;  // offset, bytes
  std::int64_t size_ = 0;
};

/// The tensors that share the arena; nullopt if one is used outside the device graph.
std::optional<std::vector<Tenant>> tenants_of(const Problem& problem,
                                              const DeviceGraph& graph,
                                              const Trace& trace) {
  const TensorTable& tensors = problem.graph.tensors();
  std::vector<std::uint32_t> node_of(problem.graph.task_count(), no_node);
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    node_of[graph.task(0, node).value()] = node;
  }
  std::vector<std::uint32_t> span_of(problem.graph.task_count(), TensorLife::never);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const TaskSpan& span : trace.tasks) {
    span_of[span.task.value()] = static_cast<std::uint32_t>(starts.size());
    starts.push_back(span.started.time_since_epoch().count());
    ends.push_back(span.ended.time_since_epoch().count());
  }
  std::vector<Tenant> tenants;
  for (const TensorId id : tensors.ids()) {
    if (tensors.persistent(id)) continue;
    const TensorLife life = tensor_life(tensors, id, span_of, starts, ends);
    if (life.first == TensorLife::never) continue;
    Tenant tenant{.placed = {.tensor = id,
                             .name = tensors.name(id),
                             .bytes = aligned(tensors.bytes(id)),
                             .from = Time{Duration{starts[life.first]}},
                             .until = Time{Duration{ends[life.last]}}},
                  .users = {},
                  .first = {}};
    for (const auto tasks : {tensors.writers(id), tensors.readers(id)}) {
      for (const TaskId task : tasks) {
        if (node_of[task.value()] == no_node) return std::nullopt;
        tenant.users.push_back(node_of[task.value()]);
      }
      if (tenant.first.empty()) tenant.first = tenant.users;
    }
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

Fields<PlacedTensor> tensor_fields() {
  using T = PlacedTensor;
  return {{"tensor", [](const T& t) { return t.tensor.value(); }},
          {"name", &T::name, unless_empty},
          {"offset_bytes", &T::offset},
          {"bytes", &T::bytes},
          {"from_us", [](const T& t) { return to_us(t.from); }, from_zero},
          {"until_us", [](const T& t) { return to_us(t.until); }, from_zero}};
}

Fields<MemoryPlan> plan_fields() {
  using P = MemoryPlan;
  return {
      {"alignment_bytes", &P::alignment},
      {"persistent_bytes", &P::persistent, {.doc = "outside the arena, all the time"}},
      {"without_reuse_bytes", &P::without_reuse, {.doc = "every tensor by itself"}},
      {"lifetimes_bytes", &P::lifetimes, {.doc = "most held at once in this run: a lower bound"}},
      {"planned_bytes", &P::planned, {.doc = "the arena of this plan, safe for every timing"}},
      {"planned_fragmentation", &P::planned_fragmentation, {.doc = "lost over the lower bound"}},
      {"best_fit_bytes", &P::best_fit, {.doc = "the arena of a best-fit allocator in this run"}},
      {"best_fit_fragmentation", &P::best_fit_fragmentation, {.doc = "lost over the lower bound"}},
      {"tensors", &P::tensors, tensor_fields()}};
}

}  // namespace

std::optional<MemoryPlan> memory_plan(const Problem& problem,
                                      const Plan& plan,
                                      const Trace& trace) {
  if (plan.graphs.size() != 1 || problem.platform.device_ids().size() != 1) return std::nullopt;
  const DeviceGraph& graph = plan.graphs.front();
  if (graph.launch_count() == 0 || graph.node_count() > max_nodes) return std::nullopt;
  const TensorTable& tensors = problem.graph.tensors();
  if (tensors.empty()) return std::nullopt;
  auto tenants = tenants_of(problem, graph, trace);
  if (!tenants) return std::nullopt;
  MemoryPlan result;
  result.alignment = arena_alignment;
  for (const TensorId id : tensors.ids()) {
    if (tensors.persistent(id)) result.persistent += tensors.bytes(id);
  }
  for (const Tenant& tenant : *tenants) result.without_reuse += tenant.placed.bytes;
  result.planned = ArenaPlanner{graph, *tenants}.place();
  std::tie(result.best_fit, result.lifetimes) = BestFit{}.run(*tenants);
  for (Tenant& tenant : *tenants) result.tensors.push_back(std::move(tenant.placed));
  std::stable_sort(result.tensors.begin(), result.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair{a.offset, a.name} < std::pair{b.offset, b.name};
  });
  return result;
}

std::string memory_plan_json(const MemoryPlan& plan) {
  schema::Json json{{"schedlab", "memory_plan"}, {"version", 1}};
  plan_fields().add_to(json, plan);
  return json.dump(1) + "\n";
}

std::string memory_plan_schema() {
  return schema::file(
             "SchedLab memory plan of a device graph", "memory_plan", plan_fields().schema())
      .dump(2);
}

}  // namespace schedlab
