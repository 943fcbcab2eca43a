// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/metrics_json.hpp"

#include "sim/base/schema_parts.hpp"
#include "sim/trace/summary_fields.hpp"
#include "sim/trace/text_buffer.hpp"
#include "sim/trace/utilization.hpp"

#include <array>
#include <variant>

namespace schedlab {
namespace {

using schema::Json;

void put_json(TextBuffer& out, const Json& json);

/// A list or an object on one line.
void put_items(TextBuffer& out, const Json& json) {
  std::string_view separator;
  for (const auto& [key, item] : json.items()) {
    out << separator;
    separator = ", ";
    if (json.is_object()) out.json_string(key) << ": ";
    put_json(out, item);
  }
}

void put_json(TextBuffer& out, const Json& json) {
  if (json.is_array()) {
    out << '[';
    put_items(out, json);
    out << ']';
  } else if (json.is_object()) {
    out << '{';
    put_items(out, json);
    out << '}';
  } else if (json.is_string()) {
    out.json_string(json.get_ref<const std::string&>());
  } else if (json.is_number_float()) {
    out << json.get<double>();
  } else {
    out << json.dump();
  }
}

struct PutValue {
  TextBuffer& out;
  void operator()(std::monostate) const { out << "null"; }
  void operator()(bool flag) const { out << (flag ? "true" : "false"); }
  void operator()(Duration time) const { out.microseconds(time.count()); }
  void operator()(const std::string& text) const { out.json_string(text); }
  void operator()(const Json& json) const { put_json(out, json); }
  void operator()(const auto& number) const { out << number; }
};

/// Writes one JSON object, a key per line.
class ObjectWriter {
 public:
  ObjectWriter(TextBuffer& out, int depth, bool one_line = false)
      : out_(out), depth_(depth), one_line_(one_line) {
    out_ << '{';
  }
  void close() {
    if (!one_line_) line(depth_ - 1);
    out_ << '}';
  }
  TextBuffer& key(std::string_view name) {
    if (!first_) out_ << (one_line_ ? ", " : ",");
    first_ = false;
    if (!one_line_) line(depth_);
    out_.json_string(name) << ": ";
    return out_;
  }
  template <class T>
  void fields(const Fields<T>& fields, const T& of) {
    for (const Field& field : fields) {
      const FieldValue value = field.value(&of);
      if (!std::holds_alternative<std::monostate>(value)) {
        std::visit(PutValue{key(field.name)}, value);
      }
    }
  }

 private:
  void line(int depth) {
    out_ << '\n';
    for (int i = 0; i < depth; ++i) out_ << "  ";
  }

  TextBuffer& out_;
  int depth_;
  bool one_line_;
  bool first_ = true;
};

template <class T>
void write_object(TextBuffer& out, const Fields<T>& fields, const T& of) {
  ObjectWriter object{out, 2};
  object.fields(fields, of);
  object.close();
}

/// A list of objects, one per line; `view_of` an item has the fields.
template <class T, class Items, class View>
void write_list(TextBuffer& out, const Fields<T>& fields, const Items& items, const View& view_of) {
  out << '[';
  bool first = true;
  for (const auto& item : items) {
    out << (first ? "\n    " : ",\n    ");
    first = false;
    ObjectWriter object{out, 2, true};
    object.fields<T>(fields, view_of(item));
    object.close();
  }
  out << (first ? "]" : "\n  ]");
}

/// What the file says first.
struct Heading {
  std::string_view title;
  std::string_view policy;
  std::string_view machine;
};

const Fields<Heading>& heading_fields() {
  static const Fields<Heading> fields{
      {"title", &Heading::title}, {"policy", &Heading::policy}, {"machine", &Heading::machine}};
  return fields;
}

const Fields<Summary>& bound_fields() {
  using S = Summary;
  static const auto words = [] {
    std::vector<std::string_view> names;
    for (const NamedBound& bound : named_bounds()) names.push_back(bound.name);
    return names;
  }();
  static const Fields<S> fields = [] {
    Fields<S> all{};
    for (const NamedBound& bound : named_bounds()) {
      const auto value = bound.value;
      all = Fields<S>{all, time_fields<S>(std::string{bound.name}, [value](const S& s) {
                        return s.bounds.*value;
                      })};
    }
    return Fields<S>{
        all,
        {"largest", [](const S& s) { return s.bounds.largest_name(); }, {.words = words}},
        {"gap", &S::gap}};
  }();
  return fields;
}

const Fields<DeviceMemory>& memory_fields() {
  using M = DeviceMemory;
  static const Fields<M> fields{
      {"device", &M::device},
      {"capacity_bytes", &M::capacity},
      {"persistent_bytes", &M::persistent},
      {"peak_bytes", &M::peak},
      {"peak_at_ps", [](const M& m) { return m.peak_at.time_since_epoch().count(); }, from_zero},
      {"held_at_peak",
       &M::holders,
       Fields<MemoryHolder>{{"name", &MemoryHolder::name},
                            {"tensors", &MemoryHolder::tensors},
                            {"bytes", &MemoryHolder::bytes}}}};
  return fields;
}

/// A number of picoseconds that is never negative.
template <class T>
Fields<T> ps_field(std::string name, Duration T::*member) {
  return {std::move(name), [member](const T& of) { return (of.*member).count(); }, from_zero};
}

struct NamedStreamUse : StreamUse {
  std::string name;
};

const Fields<NamedStreamUse>& stream_fields() {
  using U = NamedStreamUse;
  const auto time = [](const char* name, Duration StreamUse::*member) {
    return ps_field<U>(name, member);
  };
  static const Fields<U> fields{{"stream", &U::name},
                                {"tasks", &U::tasks},
                                time("busy_ps", &U::busy),
                                time("idle_ps", &U::idle),
                                time("idle_before_ps", &U::idle_before),
                                time("idle_between_ps", &U::idle_between),
                                time("idle_after_ps", &U::idle_after)};
  return fields;
}

const Fields<OperationUse>& operation_fields() {
  using U = OperationUse;
  static const Fields<U> fields{{"operation", &U::operation},
                                {"tasks", &U::tasks},
                                ps_field("running_ps", &U::running),
                                ps_field("on_critical_path_ps", &U::on_path)};
  return fields;
}

struct NamedStep : PathStep {
  std::string task_name;
};

const Fields<NamedStep>& step_fields() {
  using S = NamedStep;
  const auto time = [](const char* name, Duration PathStep::*member) {
    return ps_field<S>(name, member);
  };
  static const Fields<S> fields{{"task", &S::task_name},
                                {"cause", &S::cause},
                                time("waited_ps", &S::waited),
                                time("ran_ps", &S::ran),
                                time("slowed_ps", &S::slowed)};
  return fields;
}

const Fields<TraceCriticalPath>& path_fields() {
  using P = TraceCriticalPath;
  const auto waited = [](const std::string& word, PathCause cause) {
    return time_fields<P>("waited_for_" + word,
                          [cause](const P& path) { return path.waited_for(cause); });
  };
  static const Fields<P> fields{time_fields<P>("running", &P::running),
                                time_fields<P>("slowed", &P::slowed),
                                for_each_name<PathCause, P>(waited),
                                time_fields<P>("tail", &P::tail)};
  return fields;
}

/// The curves of utilization over time.
struct UtilizationCurve {
  std::string_view name;
  double UtilizationSlice::*value;
};
constexpr std::array<UtilizationCurve, 3> curves{{{"utilization", &UtilizationSlice::utilization},
                                                  {"running", &UtilizationSlice::running},
                                                  {"critical", &UtilizationSlice::critical}}};

void write_over_time(TextBuffer& out, const TraceDocument& document) {
  constexpr std::size_t count = 100;  // a hundredth of the run each
  const auto slices = utilization_in_slices(utilization_over_time(document), count);
  ObjectWriter object{out, 2};
  object.key("slices") << slices.size();
  for (const UtilizationCurve& curve : curves) {
    object.key(curve.name) << '[';
    std::string_view separator;
    for (const UtilizationSlice& slice : slices) {
      (out << separator).rounded(slice.*curve.value, 6);
      separator = ", ";
    }
    out << ']';
  }
  object.close();
}

void write_samples(TextBuffer& out, const Samples& samples) {
  ObjectWriter object{out, 2};
  object.key("count") << samples.count();
  const std::vector<SampleSummary> summaries = samples.summaries();
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (summaries[i].count == 0) continue;
    ObjectWriter line{object.key(sampled_metrics()[i]), 3, true};
    line.fields(sample_fields(), summaries[i]);
    line.close();
  }
  object.close();
}

void write_path(TextBuffer& out, const TraceCriticalPath& path, const TaskGraph& graph) {
  ObjectWriter object{out, 2};
  object.fields(path_fields(), path);
  write_list(object.key("tasks"), step_fields(), path.steps, [&graph](const PathStep& step) {
    return NamedStep{step, graph.name(step.task)};
  });
  object.close();
}

Json list_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

Json samples_schema() {
  Json properties{{"count", {{"type", "integer"}, {"minimum", 0}}}};
  std::vector<std::string> required{"count"};
  for (const Field& field : summary_fields().in(in_samples)) {
    properties[field.name] = sample_fields().schema();
    if (field.always) required.push_back(field.name);
  }
  return schema::object(properties, required);
}

Json over_time_schema() {
  Json properties{{"slices", {{"type", "integer"}, {"minimum", 0}}}};
  for (const UtilizationCurve& curve : curves) {
    properties[std::string{curve.name}] = list_of({{"type", "number"}});
  }
  return schema::whole_object(properties);
}

Json path_schema() {
  Json schema = path_fields().schema();
  schema["properties"]["tasks"] = list_of(step_fields().schema());
  schema["required"].push_back("tasks");
  return schema;
}

}  // namespace

std::string metrics_json(const Metrics& metrics,
                         const Problem& problem,
                         const Plan& plan,
                         std::string_view title,
                         const Samples& samples,
                         const TraceDocument* document) {
  TextBuffer out;
  ObjectWriter root{out, 1};
  root.key("schedlab").json_string("metrics");
  root.key("version") << 1;
  root.fields(heading_fields(), {title, plan.policy, problem.platform.name});
  root.fields(metrics_fields(), metrics);
  if (document != nullptr) write_over_time(root.key("utilization_over_time"), *document);
  write_object<Summary>(root.key("lower_bounds"), bound_fields(), metrics);
  if (samples.count() > 0) write_samples(root.key("samples"), samples);
  const auto as_it_is = [](const auto& item) -> const auto& {
    return item;
  };
  if (!metrics.memory.empty()) {
    write_list(root.key("memory"), memory_fields(), metrics.memory, as_it_is);
  }
  write_list(
      root.key("stream_use"), stream_fields(), metrics.stream_use, [&plan](const StreamUse& use) {
        return NamedStreamUse{use, plan.stream_name(use.stream)};
      });
  write_list(root.key("operation_use"), operation_fields(), metrics.operation_use, as_it_is);
  write_path(root.key("critical_path"), metrics.critical_path, problem.graph);
  root.close();
  out << '\n';
  return std::move(out).take();
}

std::string metrics_schema() {
  Json contents = heading_fields().schema();
  const auto add = [&contents](const char* name, const Json& type, bool always) {
    contents["properties"][name] = type;
    if (always) contents["required"].push_back(name);
  };
  const Json metrics = metrics_fields().schema();
  contents["properties"].update(metrics.at("properties"));
  for (const Json& name : metrics.at("required")) contents["required"].push_back(name);
  add("utilization_over_time", over_time_schema(), false);
  add("lower_bounds", bound_fields().schema(), true);
  add("samples", samples_schema(), false);
  add("memory", list_of(memory_fields().schema()), false);
  add("stream_use", list_of(stream_fields().schema()), true);
  add("operation_use", list_of(operation_fields().schema()), true);
  add("critical_path", path_schema(), true);
  return schema::file("SchedLab metrics", "metrics", contents).dump(2);
}

}  // namespace schedlab
