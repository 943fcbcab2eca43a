// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/witness.hpp"

#include "sim/base/fields.hpp"

namespace schedlab {

namespace {

const Fields<Tightening>& tightening_fields() {
  using T = Tightening;
  static const Fields<T> fields{
      {"task", [](const T& t) { return t.task.value(); }},
      {"pool", [](const T& t) { return t.pool; }, {.doc = "number of the resource"}},
      {"head_ps", [](const T& t) { return t.head.count(); }},
      {"tail_ps", [](const T& t) { return t.tail.count(); }}};
  return fields;
}

const Fields<Deduction>& deduction_fields() {
  using D = Deduction;
  const auto asks = [](const D& d) { return d.task.valid(); };
  const auto has_window = [](const D& d) { return d.begin < d.end; };
  static const Fields<D> fields{
      when<D>(asks,
              {{"task", [](const D& d) { return d.task.value(); }},
               {"late", &D::late, {.doc = "it starts after the time; else before"}},
               {"time_ps", [](const D& d) { return d.time.count(); }}}),
      when<D>(has_window,
              {{"pool", [](const D& d) { return d.pool; }, {.doc = "number of the resource"}},
               {"begin_ps", [](const D& d) { return d.begin.count(); }},
               {"end_ps", [](const D& d) { return d.end.count(); }}})};
  return fields;
}

}  // namespace

BoundKind kind_of(const Pool& pool) {
  if (serves_before_start(pool)) return BoundKind::host_launch;
  if (pool.resource == BoundResource::link) return BoundKind::network;
  return pool.resource == BoundResource::memory ? BoundKind::memory : BoundKind::subset;
}

const Fields<BoundWitness>& witness_fields() {
  using W = BoundWitness;
  const auto used = [](const W& w) {
    return w.kind != BoundKind::latency_path && w.deductions.empty();
  };
  const auto energetic = [](const W& w) { return w.kind == BoundKind::energetic; };
  const auto ps = [](Duration W::*member) {
    return [member](const W& w) { return (w.*member).count(); };
  };
  static const Fields<W> fields{
      {"kind", &W::kind},
      time_fields<W>("bound", &W::bound, {.doc = "no plan of the problem is shorter"}),
      when<W>(used,
              {{"resource", [](const W& w) { return w.pool.resource; }},
               {"device",
                [](const W& w) {
                  return w.pool.device.valid() ? std::optional{w.pool.device.value()}
                                               : std::nullopt;
                },
                {.doc = "missing: all devices together"}},
               {"unit_class",
                [](const W& w) {
                  return w.pool.unit_class.valid() ? std::optional{w.pool.unit_class.value()}
                                                   : std::nullopt;
                },
                {.doc = "its place in the list of the device"}},
               {"link",
                [](const W& w) {
                  return w.pool.link.valid() ? std::optional{w.pool.link.value()} : std::nullopt;
                },
                {.doc = "of the network, by number"}},
               {"capacity", [](const W& w) { return w.pool.capacity; }}}),
      {"head_ps", ps(&W::head), {.doc = "tasks that start no earlier", .from_zero = true}},
      {"tail_ps", ps(&W::tail), {.doc = "and after which no less is left", .from_zero = true}},
      {"pivot",
       [](const W& w) { return w.pivot.valid() ? std::optional{w.pivot.value()} : std::nullopt; },
       {.doc = "before this task starts others have been launched, or work is left after it"}},
      when<W>(energetic,
              {{"deadline_ps", ps(&W::deadline), {.doc = "which the deductions exclude"}}}),
      {"path",
       [](const W& w) {
         std::vector<std::uint32_t> tasks;
         for (const TaskId task : w.path) tasks.push_back(task.value());
         return tasks;
       },
       {.doc = "tasks by number, each depends on the one before; of subset: one from end to end",
        .unless_empty = true}},
      {"heads",
       &W::heads,
       tightening_fields(),
       {.doc = "later starts than by paths", .unless_empty = true}},
      {"tails",
       &W::tails,
       tightening_fields(),
       {.doc = "more left than by paths", .unless_empty = true}},
      {"deductions",
       &W::deductions,
       deduction_fields(),
       {.doc = "steps that exclude the deadline", .unless_empty = true}}};
  return fields;
}

}  // namespace schedlab
