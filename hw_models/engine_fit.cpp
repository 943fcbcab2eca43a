// SPDX-License-Identifier: Apache-2.0
#include "hw_models/engine_fit.hpp"

#include "hw_models/linear_fit.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace schedlab {
namespace {

constexpr auto rest = static_cast<std::size_t>(EngineClass::data_split);

std::vector<double> features_of(const EngineWork& work, const CostTerms& terms) {
  std::vector<double> features;
  if (terms.operators) features.push_back(work.operators);
  if (terms.bytes) features.push_back(work.moved_bytes);
  if (terms.flops) features.push_back(work.flops);
  return features;
}

ClassCost cost_from(const std::vector<double>& coefficients, const CostTerms& terms) {
  ClassCost cost;
  std::size_t next = 0;
  if (terms.operators) cost.operator_seconds = coefficients[next++];
  if (terms.bytes) cost.seconds_per_byte = coefficients[next++];
  if (terms.flops) cost.seconds_per_flop = coefficients[next];
  return cost;
}

ClassCost fit_rows(const std::vector<FitRow>& rows, std::size_t index, const CostTerms& terms) {
  const auto engine_class = static_cast<EngineClass>(index);
  if (rows.empty()) return {};
  if (rows.size() < rows.front().features.size()) {
    throw InfeasibleError(fmt::format("class {}: {} times for {} terms of its cost\n  give more",
                                      to_string(engine_class),
                                      rows.size(),
                                      rows.front().features.size()));
  }
  try {
    return cost_from(fit_costs(rows).coefficients, terms);
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("class {}: {}", to_string(engine_class), error.what()));
  }
}

/// Seconds of the step that no timed class accounts for.
double rest_of(const ByEngineClass<ClassCost>& costs, const EngineSample& sample) {
  double known = 0;
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    if (i == rest) continue;
    known += costs[i].seconds(sample.all_work[i]);
    if (sample.timed_seconds[i] > 0) {
      known += sample.timed_seconds[i] - costs[i].seconds(sample.timed_work[i]);
    }
  }
  if (known >= sample.step_seconds) {
    throw InfeasibleError(
        fmt::format("{}: its classes take {:.3f} s, its whole step {:.3f} s\n  nothing is left for "
                    "the other operators; check the times",
                    sample.name,
                    known,
                    sample.step_seconds));
  }
  return sample.step_seconds - known;
}

void scale(ClassCost& cost, double factor) {
  cost.operator_seconds *= factor;
  cost.seconds_per_byte *= factor;
  cost.seconds_per_flop *= factor;
}

/// Own time over what the costs give; 0: not timed.
double own_factor(const ByEngineClass<ClassCost>& costs,
                  const EngineSample& sample,
                  std::size_t engine_class) {
  const double fitted = costs[engine_class].seconds(sample.timed_work[engine_class]);
  if (engine_class == rest || sample.timed_seconds[engine_class] <= 0 || fitted <= 0) return 0;
  return sample.timed_seconds[engine_class] / fitted;
}

ByEngineClass<ClassCost> scaled_classes(const ByEngineClass<ClassCost>& costs,
                                        const EngineSample& sample) {
  ByEngineClass<ClassCost> own = costs;
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    const double factor = own_factor(costs, sample, i);
    if (factor > 0) scale(own[i], factor);
  }
  return own;
}

/// Of data_split: seconds by the operator, and by the byte.
void set_rest(OwnCosts& own, const EngineSample& sample, double by_operator, double by_byte) {
  const EngineWork& work = sample.all_work[rest];
  own.of[rest] = {};
  if (work.operators > 0) own.of[rest].operator_seconds = by_operator / work.operators;
  if (work.moved_bytes > 0) own.of[rest].seconds_per_byte = by_byte / work.moved_bytes;
}

void divide_weight_gradients(const ByEngineClass<ClassCost>& costs,
                             const EngineSample& sample,
                             OwnCosts& own) {
  constexpr auto weight = static_cast<std::size_t>(EngineClass::conv_weight_gradient);
  constexpr auto data = static_cast<std::size_t>(EngineClass::conv_data_gradient);
  const double of_both = own_factor(costs, sample, data);
  const double images = costs[weight].seconds(sample.image_weight_gradients);
  if (images <= 0 || of_both <= 0 || of_both >= own_factor(costs, sample, weight)) return;
  const double others = costs[weight].seconds(sample.timed_work[weight]) - images;
  const double seconds = sample.timed_seconds[weight] - of_both * others;
  own.of[weight] = costs[weight];
  scale(own.of[weight], of_both);
  own.image_weight_gradient = costs[weight];
  scale(own.image_weight_gradient, seconds / images);
}

}  // namespace

std::vector<TaskId> image_weight_gradients(const TaskGraph& graph) {
  std::set<std::int32_t> with_data_gradient;
  std::vector<TaskId> gradients;
  for (const TaskId task : graph.tasks()) {
    const EngineClass kind = engine_class(graph.operation(task));
    if (kind == EngineClass::conv_data_gradient) with_data_gradient.insert(graph.tags(task).layer);
    if (kind == EngineClass::conv_weight_gradient) gradients.push_back(task);
  }
  std::erase_if(gradients,
                [&](TaskId task) { return with_data_gradient.contains(graph.tags(task).layer); });
  return gradients;
}

EngineSample engine_sample(std::string name,
                           const TaskGraph& graph,
                           const ByEngineClass<std::vector<std::string>>& timed) {
  EngineSample sample;
  sample.name = std::move(name);
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    const auto index = static_cast<std::size_t>(engine_class(operation));
    const EngineWork work = engine_work(operation);
    sample.all_work[index] += work;
    const auto& names = timed[index];
    if (std::find(names.begin(), names.end(), operation.name) != names.end()) {
      sample.timed_work[index] += work;
    }
  }
  for (const TaskId task : image_weight_gradients(graph)) {
    sample.image_weight_gradients += engine_work(graph.operation(task));
  }
  return sample;
}

ByEngineClass<ClassCost> fit_engine(Processor processor, const std::vector<EngineSample>& samples) {
  ByEngineClass<ClassCost> costs{};
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    if (i == rest) continue;
    const CostTerms terms = cost_terms(processor, static_cast<EngineClass>(i));
    std::vector<FitRow> rows;
    for (const EngineSample& sample : samples) {
      if (sample.timed_seconds[i] <= 0) continue;
      rows.push_back({.features = features_of(sample.timed_work[i], terms),
                      .measured = sample.timed_seconds[i]});
    }
    costs[i] = fit_rows(rows, i, terms);
  }
  const CostTerms terms = cost_terms(processor, EngineClass::data_split);
  std::vector<FitRow> rows;
  for (const EngineSample& sample : samples) {
    if (sample.step_seconds <= 0) continue;
    rows.push_back({.features = features_of(sample.all_work[rest], terms),
                    .measured = rest_of(costs, sample)});
  }
  costs[rest] = fit_rows(rows, rest, terms);
  return costs;
}

OwnCosts scaled_to(const ByEngineClass<ClassCost>& costs,
                   const EngineSample& sample,
                   double operator_share) {
  SCHEDLAB_EXPECTS(operator_share >= 0 && operator_share <= 1 && sample.step_seconds > 0,
                   fmt::format("{}: share {}", sample.name, operator_share));
  OwnCosts own{.of = scaled_classes(costs, sample)};
  const double seconds = rest_of(own.of, sample);
  set_rest(own, sample, operator_share * seconds, (1 - operator_share) * seconds);
  divide_weight_gradients(costs, sample, own);
  return own;
}

double rest_ratio(const BothCosts& costs, const EngineSamples& samples) {
  return rest_of(scaled_classes(costs.management, samples.management), samples.management) /
         rest_of(scaled_classes(costs.array, samples.array), samples.array);
}

OwnCosts scaled_to_both(const BothCosts& costs, const EngineSamples& samples, double speed_up) {
  SCHEDLAB_EXPECTS(speed_up > 1, fmt::format("{}: {}", samples.array.name, speed_up));
  OwnCosts own{.of = scaled_classes(costs.array, samples.array)};
  const double seconds = rest_of(own.of, samples.array);
  const double ratio = rest_ratio(costs, samples);
  const double framework = std::max(0.0, seconds * (speed_up - ratio) / (speed_up - 1));
  double operators = 0;
  for (const EngineWork& work : samples.array.all_work) operators += work.operators;
  if (operators > 0) own.framework_seconds = framework / operators;
  set_rest(own, samples.array, 0, seconds - framework);
  divide_weight_gradients(costs.array, samples.array, own);
  return own;
}

double step_seconds(const ByEngineClass<ClassCost>& costs, const EngineSample& sample) {
  double sum = 0;
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    sum += costs[i].seconds(sample.all_work[i]);
  }
  return sum;
}

}  // namespace schedlab
