// SPDX-License-Identifier: Apache-2.0
#include "sim/base/fields.hpp"
#include "sim/plan/partitions.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/run_difference.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

/// NAME_us, as to_us() rounds it, and NAME_ps. `get` may give nothing.
template <class T, class Get>
Fields<T> both(const std::string& name, Get get) {
  using Given = field_detail::Gives<T, Get>;
  if constexpr (field_detail::is_optional<Given>) {
    const auto value = [](const Duration& time) { return time; };
    return inlined<T>(get, both<Duration>(name, value));
  } else {
    return {{name + "_us", in_us(get)},
            {name + "_ps", [get](const T& of) { return std::invoke(get, of).count(); }}};
  }
}

double share_of(Duration part, Duration whole) {
  return whole == Duration{0} ? 0.0 : to_us(part) / to_us(whole);
}

/// A part of a time.
struct TimeShare {
  Duration part;
  Duration whole;
};

Fields<TimeShare> share_fields() {
  using S = TimeShare;
  return {{"share", [](const S& s) { return share_of(s.part, s.whole); }},
          both<S>("time", &S::part)};
}

/// A field for each word of an enumeration, made of its name and index.
template <class Word, class T, class Make>
Fields<T> for_words(std::size_t words, const Make& make) {
  Fields<T> all{};
  for (std::size_t i = 0; i < words; ++i) {
    all = Fields<T>{all, make(std::string{to_string(static_cast<Word>(i))}, i)};
  }
  return all;
}

/// {word: {share, time}}, of the times that `times` gives and the whole that `whole` gives.
template <class Word, class Times, class Whole>
Fields<Attribution> shares(Times times, Whole whole) {
  using A = Attribution;
  constexpr std::size_t words = std::tuple_size_v<field_detail::Gives<A, Times>>;
  return for_words<Word, A>(words, [&](const std::string& word, std::size_t i) {
    const auto share = [times, whole, i](const A& a) {
      return TimeShare{std::invoke(times, a)[i], whole(a)};
    };
    return Fields<A>{word, share, share_fields()};
  });
}

/// {word_ps: time}.
template <class Word, class T, class Times>
Fields<T> times_ps(Times times) {
  constexpr std::size_t words = std::tuple_size_v<field_detail::Gives<T, Times>>;
  return for_words<Word, T>(words, [times](const std::string& word, std::size_t i) {
    return Fields<T>{word + "_ps",
                     [times, i](const T& of) { return std::invoke(times, of)[i].count(); }};
  });
}

Fields<TraceCriticalPath> path_fields() {
  using P = TraceCriticalPath;
  const auto waited = [](const std::string& cause, std::size_t i) {
    return both<P>("waited_for_" + cause, [i](const P& path) { return path.waited.at(i); });
  };
  return {{"tasks", [](const P& p) { return p.steps.size(); }},
          both<P>("running", &P::running),
          both<P>("slowed", &P::slowed),
          for_words<PathCause, P>(path_cause_count, waited),
          both<P>("tail", &P::tail)};
}

/// A stream, and why it was idle.
struct ExplainedStream {
  std::string name;
  std::optional<UnitPart> part;
  StreamUse use;
  CauseTimes causes;
};

std::vector<ExplainedStream> streams_of(const Explanation& explanation) {
  IdVector<StreamId, CauseTimes> causes(explanation.run.plan.streams.size());
  for (const StreamGap& gap : explanation.attribution.gaps) {
    CauseTimes& sums = causes[gap.stream];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += gap.by_cause[i];
  }
  const IdVector<StreamId, UnitPart> parts =
      unit_parts(explanation.run.platform, explanation.run.plan);
  std::vector<ExplainedStream> streams;
  for (const StreamUse& use : explanation.metrics.stream_use) {
    streams.push_back({explanation.run.plan.stream_name(use.stream),
                       parts.empty() ? std::nullopt : std::optional{parts[use.stream]},
                       use,
                       causes[use.stream]});
  }
  return streams;
}

Fields<ExplainedStream> stream_fields() {
  using S = ExplainedStream;
  const auto units = [](std::uint32_t UnitPart::*count) {
    return [count](const S& s) { return s.part ? std::optional{(*s.part).*count} : std::nullopt; };
  };
  return {
      {"stream", &S::name},
      {"units", units(&UnitPart::units), {.doc = "that it is bound to, where a plan divides them"}},
      {"device_units", units(&UnitPart::whole)},
      {"tasks", [](const S& s) { return s.use.tasks; }},
      {"busy_ps", [](const S& s) { return s.use.busy.count(); }},
      {"idle_ps", [](const S& s) { return s.use.idle.count(); }},
      times_ps<WaitCause, S>(&S::causes)};
}

Fields<RegionShare> region_fields() {
  using R = RegionShare;
  return {{"tag", &R::tag},
          {"value", &R::value},
          {"tasks", &R::tasks},
          times_ps<DeviceBound, R>(&R::devices)};
}

/// A slice of the makespan, and the run.
Fields<PartOf<Explanation, BoundBin>> bin_fields() {
  using B = BoundBin;
  using S = PartOf<Explanation, BoundBin>;
  const auto reliable = [](const S& s) {
    return s.whole.run.loss.reliable(s.part.begin, s.part.end);
  };
  return {
      {"begin_ps", [](const S& s) { return s.part.begin.time_since_epoch().count(); }},
      {"end_ps", [](const S& s) { return s.part.end.time_since_epoch().count(); }},
      {"reliable", reliable, {.doc = "false: nodes of device graphs are missing in the profile"}},
      inlined<S>([](const S& s) -> const B& { return s.part; },
                 {times_ps<DeviceBound, B>(&B::devices),
                  {"path", itself, times_ps<PathBound, B>(&B::path)}})};
}

/// A change, and the replay that it changes.
Fields<PartOf<WhatIfTable, WhatIf>> what_if_change_fields() {
  using C = PartOf<WhatIfTable, WhatIf>;
  const auto saved = [](const C& c) -> std::optional<Duration> {
    if (!c.part.makespan) return std::nullopt;
    return c.whole.replay - *c.part.makespan;
  };
  const auto speed_up = [](const C& c) -> std::optional<double> {
    if (!c.part.makespan || *c.part.makespan <= Duration{0}) return std::nullopt;
    return to_us(c.whole.replay) / to_us(*c.part.makespan);
  };
  return {{"name", [](const C& c) { return c.part.name; }},
          {"description", [](const C& c) { return c.part.description; }},
          both<C>("makespan", [](const C& c) { return c.part.makespan; }),
          both<C>("saved", saved),
          {"speed_up", speed_up},
          {"note", [](const C& c) { return c.part.note; }, unless_empty}};
}

Fields<WhatIfTable> what_if_fields() {
  using B = BreakEven;
  using W = WhatIfTable;
  const Fields<B> break_even{both<B>("mean_operator", &B::mean_operator),
                             both<B>("closed_form", &B::closed_form),
                             both<B>("simulated", &B::simulated)};
  return {
      both<W>("trace", &W::trace),
      {"note", &W::note, unless_empty},
      when<W>(
          [](const W& w) { return w.note.empty(); },
          {both<W>("replay", &W::replay),
           {"replay_error", &W::replay_error},
           {"replay_decision", &W::replay_decision, unless_empty},
           {"warning", &W::warning, unless_empty},
           {"changes", [](const W& w) { return parts_of(w, w.changes); }, what_if_change_fields()},
           {"break_even", &W::break_even, break_even}})};
}

Fields<Attribution> bound_fields() {
  using A = Attribution;
  const auto devices = [](const A& a) { return a.makespan * static_cast<std::int64_t>(a.devices); };
  const auto makespan = [](const A& a) { return a.makespan; };
  const auto idle = [](const A& a) {
    return std::accumulate(a.idle_by_cause.begin(), a.idle_by_cause.end(), Duration{0});
  };
  return {{"bound", itself, shares<DeviceBound>(&A::bound, devices)},
          {"path_bound", itself, shares<PathBound>(&A::path_bound, makespan)},
          {"idle_by_cause", itself, shares<WaitCause>(&A::idle_by_cause, idle)}};
}

std::optional<RunDifference> difference_of(const Explanation& explanation) {
  if (explanation.against == nullptr) return std::nullopt;
  return *explanation.against;
}

Fields<Explanation> explanation_fields() {
  using A = Attribution;
  using E = Explanation;
  return {
      {"title", [](const E& e) { return e.run.title; }},
      {"origin", [](const E& e) { return e.run.origin; }},
      inlined<E>([](const E& e) -> const DataLoss& { return e.run.loss; }, data_loss_fields()),
      {"cost_evidence", [](const E& e) { return e.metrics.cost_evidence; }},
      {"notes", [](const E& e) { return e.run.notes; }},
      inlined<E>(&E::attribution, {{"devices", &A::devices}, both<A>("makespan", &A::makespan)}),
      {"decision", [](const E& e) { return who_decides(e.metrics.critical_path); }},
      inlined<E>(&E::attribution, bound_fields()),
      {"critical_path", [](const E& e) -> const auto& {return e.metrics.critical_path;
}
, path_fields()
}  // namespace
, {"streams", streams_of, stream_fields()},
    inlined<E>(&E::attribution, {{"regions", &A::regions, region_fields()}}),
    {"bins", [](const E& e) { return parts_of(e, e.attribution.bins); }, bin_fields()},
    {"what_if", &E::what_if, what_if_fields()}, {
  "against", difference_of, run_difference_fields()
}
};  // namespace schedlab
}

}  // namespace

std::string explanation_json(const Explanation& explanation) {
  Json json{{"schedlab", "explanation"}, {"version", 1}};
  explanation_fields().add_to(json, explanation);
  return json.dump(1) + "\n";
}

std::string explanation_schema() {
  return schema::file("SchedLab explanation", "explanation", explanation_fields().schema()).dump(2);
}

}  // namespace schedlab
