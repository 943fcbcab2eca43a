// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/witness.hpp"

#include "sim/base/fields.hpp"

namespace schedlab {

namespace {

const Fields<Tightening>& tightening_fields() {
  using T = Tightening;
  static const Fields<T> fields{
      {"task", [](const T& t) { return t.task.value(); }},
      {"pool",
       [](const T& t) {
         return t.pool == host_pool ? std::nullopt : std::optional{std::uint64_t{t.pool}};
       },
       {.doc = "number of the resource; missing: host calls"}},
      {"head_ps", [](const T& t) { return t.head.count(); }},
      {"tail_ps", [](const T& t) { return t.tail.count(); }}};
  return fields;
}

}  // namespace

const Fields<BoundWitness>& witness_fields() {
  using W = BoundWitness;
  const auto used = [](const W& w) {
    return w.kind != BoundKind::latency_path && w.kind != BoundKind::host_launch;
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
               {"capacity", [](const W& w) { return w.pool.capacity; }}}),
      {"head_ps", ps(&W::head), {.doc = "tasks that start no earlier", .from_zero = true}},
      {"tail_ps", ps(&W::tail), {.doc = "and after which no less is left", .from_zero = true}},
      when<W>(energetic,
              {{"deadline_ps", ps(&W::deadline)},
               {"begin_ps", ps(&W::begin)},
               {"end_ps", ps(&W::end)}}),
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
       {.doc = "more left than by paths", .unless_empty = true}}};
  return fields;
}

}  // namespace schedlab
