// SPDX-License-Identifier: Apache-2.0
#include "hw_models/engine_fit.hpp"

#include "hw_models/linear_fit.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

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

ByEngineClass<ClassCost> scaled_to(const ByEngineClass<ClassCost>& costs,
                                   const EngineSample& sample,
                                   double operator_share) {
  SCHEDLAB_EXPECTS(operator_share >= 0 && operator_share <= 1 && sample.step_seconds > 0,
                   fmt::format("{}: share {}", sample.name, operator_share));
  ByEngineClass<ClassCost> own = costs;
  for (std::size_t i = 0; i < engine_class_count; ++i) {
    const double fitted = costs[i].seconds(sample.timed_work[i]);
    if (i == rest || sample.timed_seconds[i] <= 0 || fitted <= 0) continue;
    const double factor = sample.timed_seconds[i] / fitted;
    own[i].operator_seconds *= factor;
    own[i].seconds_per_byte *= factor;
    own[i].seconds_per_flop *= factor;
  }
  const EngineWork& work = sample.all_work[rest];
  const double seconds = rest_of(own, sample);
  own[rest] = {};
  if (work.operators > 0) own[rest].operator_seconds = operator_share * seconds / work.operators;
  if (work.moved_bytes > 0) {
    own[rest].seconds_per_byte = (1 - operator_share) * seconds / work.moved_bytes;
  }
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
