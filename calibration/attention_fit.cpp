// SPDX-License-Identifier: Apache-2.0
#include "calibration/attention_fit.hpp"

#include <array>
#include <cmath>

namespace schedlab {
namespace {

constexpr std::size_t fewest_rows = 40;
constexpr double element_bytes = 2;

using TimeOf = AttentionTime (*)(const FittedParameters&,
                                 const AttentionShape&,
                                 double,
                                 const AttentionDevice&);

/// The fit of each start to the rows to fit, of which the one is kept that errs least on those to
/// choose by.
FittedParameters fit_by_choice(std::span<const ParameterInfo> infos,
                               const std::vector<std::vector<double>>& forms,
                               const std::vector<AttentionRow>& rows,
                               TimeOf time_of,
                               const AttentionDevice& device) {
  std::vector<const AttentionRow*> fitted;
  std::vector<const AttentionRow*> choosing;
  std::vector<double> measured;
  for (const AttentionRow& row : rows) {
    if (row.use == RowUse::choose) choosing.push_back(&row);
    if (row.use != RowUse::fit) continue;
    fitted.push_back(&row);
    measured.push_back(row.us);
  }
  if (fitted.size() < fewest_rows) return {};
  FittedParameters best;
  double least = 0;
  for (const std::vector<double>& form : forms) {
    const ModelFit fit =
        fit_model(infos, {form}, measured, [&](const FittedParameters& at, std::size_t i) {
          return time_of(at, fitted[i]->shape, element_bytes, device).us;
        });
    double error = 0;
    for (const AttentionRow* row : choosing) {
      const double us = time_of(fit.parameters, row->shape, element_bytes, device).us;
      error += std::min(std::abs(std::log(us / row->us)), 0.5);
    }
    if (choosing.empty()) error = fit.cost;
    if (!best.known() || error < least) {
      best = fit.parameters;
      least = error;
    }
  }
  return best;
}

std::vector<AttentionRow> those(const std::vector<AttentionRow>& rows, bool one_token) {
  std::vector<AttentionRow> kept;
  for (const AttentionRow& row : rows) {
    if ((row.shape.queries == 1) == one_token) kept.push_back(row);
  }
  return kept;
}

template <class Parameter>
void set(std::vector<double>& values, Parameter parameter, double value) {
  values[static_cast<std::size_t>(parameter)] = value;
}

}  // namespace

FittedParameters fit_context(const std::vector<AttentionRow>& rows, const AttentionDevice& device) {
  struct Form {
    double query_tile, key_tile, packed;
  };
  constexpr std::array<Form, 5> known{
      {{128, 64, 0}, {128, 128, 0}, {256, 128, 0}, {128, 128, 1}, {256, 128, 1}}};
  std::vector<std::vector<double>> forms;
  for (const Form& form : known) {
    forms.push_back(usual_start(context_parameters()));
    set(forms.back(), ContextParameter::query_tile, form.query_tile);
    set(forms.back(), ContextParameter::key_tile, form.key_tile);
    set(forms.back(), ContextParameter::packed, form.packed);
  }
  return fit_by_choice(context_parameters(), forms, those(rows, false), &context_time, device);
}

FittedParameters fit_generation(const std::vector<AttentionRow>& rows,
                                const AttentionDevice& device) {
  std::vector<std::vector<double>> forms;
  for (const double key_tile : {64.0, 128.0}) {
    for (const double splits : {0.0, 1.0}) {
      forms.push_back(usual_start(generation_parameters()));
      set(forms.back(), GenerationParameter::key_tile, key_tile);
      set(forms.back(), GenerationParameter::splits_ungrouped, splits);
    }
  }
  return fit_by_choice(generation_parameters(), forms, those(rows, true), &generation_time, device);
}

double attention_us(const FittedParameters& context,
                    const FittedParameters& generation,
                    const AttentionShape& shape,
                    const AttentionDevice& device) {
  return shape.queries == 1 ? generation_time(generation, shape, element_bytes, device).us
                            : context_time(context, shape, element_bytes, device).us;
}

}  // namespace schedlab
