// SPDX-License-Identifier: Apache-2.0
#include "calibration/collective_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace schedlab {
namespace {

constexpr std::size_t fewest_of_protocol = 8;
constexpr std::size_t fewest_exchanges = 40;
constexpr double kib = 1024;

std::vector<const CollectiveRow*> rows_between(const std::vector<const CollectiveRow*>& rows,
                                               double from,
                                               double to) {
  std::vector<const CollectiveRow*> between;
  for (const CollectiveRow* row : rows) {
    const double sent = collective_steps(row->collective).sent_bytes;
    if (sent >= from && sent < to) between.push_back(row);
  }
  return between;
}

std::optional<ModelFit> fit_one(const std::vector<const CollectiveRow*>& rows,
                                double from,
                                Bandwidth link) {
  if (rows.size() < fewest_of_protocol) return std::nullopt;
  std::vector<double> measured;
  for (const CollectiveRow* row : rows) measured.push_back(row->us);
  std::vector<ParameterInfo> infos{protocol_parameters().begin(), protocol_parameters().end()};
  infos[static_cast<std::size_t>(ProtocolParameter::from_bytes)].integer = true;  // not fitted here
  std::vector<double> start = usual_start(infos);
  start[static_cast<std::size_t>(ProtocolParameter::from_bytes)] = from;
  ModelFit fit = fit_model(infos, {start}, measured, [&](const FittedParameters& at, std::size_t i) {
    return to_us(fitted_time({&at, 1}, rows[i]->collective, link).total());
  });
  fit.cost *= static_cast<double>(rows.size());
  FittedValue& threshold =
      fit.parameters.values[static_cast<std::size_t>(ProtocolParameter::from_bytes)];
  threshold.low = threshold.value / 2;
  threshold.high = threshold.value * 2;
  return fit;
}

}  // namespace

std::vector<FittedParameters> fit_protocols(const std::vector<CollectiveRow>& rows,
                                            bool pairwise,
                                            Bandwidth link) {
  std::vector<const CollectiveRow*> fitted;
  for (const CollectiveRow& row : rows) {
    const bool exchange = row.collective.op == CollectiveOp::all_to_all;
    if (row.use == RowUse::fit && exchange == pairwise) fitted.push_back(&row);
  }
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<FittedParameters> best;
  double least = none;
  for (double second = 2 * kib; second <= 128 * kib; second *= 2) {
    const auto low = fit_one(rows_between(fitted, 0, second), 0, link);
    if (!low) continue;
    for (double third = 256 * kib; third <= 16 * kib * kib; third *= 2) {
      const auto middle = fit_one(rows_between(fitted, second, third), second, link);
      const auto high = fit_one(rows_between(fitted, third, none), third, link);
      if (!middle || !high) continue;
      const double cost = low->cost + middle->cost + high->cost;
      if (cost >= least) continue;
      least = cost;
      best = {low->parameters, middle->parameters, high->parameters};
    }
  }
  return best;
}

FittedParameters bound_in_switch(const std::vector<CollectiveRow>& rows, Bandwidth link) {
  double most_ranks = 0;
  double most_bytes = 0;
  const auto counts = [](const CollectiveRow& row) {
    return row.use == RowUse::fit && row.collective.op == CollectiveOp::all_reduce &&
           row.collective.ranks > 2;
  };
  for (const CollectiveRow& row : rows) {
    if (!counts(row)) continue;
    most_ranks = std::max(most_ranks, row.collective.ranks);
    most_bytes = std::max(most_bytes, row.collective.bytes);
  }
  std::vector<const CollectiveRow*> large;
  constexpr double span = 64;  // of sizes, for the part that does not grow with them
  for (const CollectiveRow& row : rows) {
    if (!counts(row) || row.collective.bytes < most_bytes / span) continue;
    large.push_back(&row);
  }
  if (large.size() < 4) return {};
  std::vector<double> start = usual_start(switch_parameters());
  std::vector<ParameterInfo> infos{switch_parameters().begin(), switch_parameters().end()};
  infos[static_cast<std::size_t>(SwitchParameter::from_bytes)].integer = true;
  start[static_cast<std::size_t>(SwitchParameter::from_bytes)] = most_bytes / span;
  start[static_cast<std::size_t>(SwitchParameter::from_ranks)] = most_ranks + 1;
  std::vector<double> measured;
  for (const CollectiveRow* row : large) measured.push_back(row->us);
  FittedParameters fitted =
      fit_model(infos, {start}, measured, [&](const FittedParameters& at, std::size_t i) {
        return to_us(in_switch_time(at, large[i]->collective, link).total());
      }).parameters;
  return fitted;
}

FittedParameters fit_exchange(const std::vector<ExchangeRow>& rows, Bandwidth link) {
  std::vector<const ExchangeRow*> fitted;
  std::vector<double> measured;
  for (const ExchangeRow& row : rows) {
    if (row.use != RowUse::fit) continue;
    fitted.push_back(&row);
    measured.push_back(row.us);
  }
  if (fitted.size() < fewest_exchanges) return {};
  return fit_model(expert_parameters(),
                   {usual_start(expert_parameters())},
                   measured,
                   [&](const FittedParameters& at, std::size_t i) {
                     return exchange_time(at, fitted[i]->exchange, link).us;
                   })
      .parameters;
}

}  // namespace schedlab
