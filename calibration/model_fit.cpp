// SPDX-License-Identifier: Apache-2.0
#include "calibration/model_fit.hpp"

#include "hw_models/robust_fit.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

/// Where a parameter that may be 0 becomes linear.
double offset_of(const ParameterInfo& info) {
  return info.minimum > 0 ? 0.0 : 0.05 * (info.start > 0 ? info.start : 1.0);
}

/// Between values and what is fitted.
class Scale {
 public:
  explicit Scale(std::span<const ParameterInfo> infos) : infos_(infos) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].integer) free_.push_back(i);
    }
  }
  [[nodiscard]] std::vector<double> fitted(const std::vector<double>& values) const {
    std::vector<double> logs;
    for (const std::size_t i : free_) logs.push_back(log_of(i, values[i]));
    return logs;
  }
  [[nodiscard]] std::vector<std::pair<double, double>> bounds() const {
    std::vector<std::pair<double, double>> all;
    for (const std::size_t i : free_) {
      all.emplace_back(log_of(i, infos_[i].minimum), log_of(i, infos_[i].maximum));
    }
    return all;
  }
  void set(const std::vector<double>& logs, FittedParameters& parameters) const {
    for (std::size_t j = 0; j < free_.size(); ++j) {
      parameters.values[free_[j]].value = value_of(free_[j], logs[j]);
    }
  }
  void set_intervals(const std::vector<std::pair<double, double>>& intervals,
                     FittedParameters& parameters) const {
    for (std::size_t j = 0; j < free_.size(); ++j) {
      FittedValue& one = parameters.values[free_[j]];
      one.value = inside(free_[j], four_digits(one.value));
      one.low = std::min(one.value,
                         inside(free_[j], four_digits(value_of(free_[j], intervals[j].first))));
      one.high = std::max(one.value,
                          inside(free_[j], four_digits(value_of(free_[j], intervals[j].second))));
    }
  }

 private:
  [[nodiscard]] double log_of(std::size_t i, double value) const {
    return std::log(value + offset_of(infos_[i]));
  }
  [[nodiscard]] double inside(std::size_t i, double value) const {
    return std::clamp(value, infos_[i].minimum, infos_[i].maximum);
  }
  [[nodiscard]] double value_of(std::size_t i, double log) const {
    return inside(i, std::exp(log) - offset_of(infos_[i]));
  }

  std::span<const ParameterInfo> infos_;
  std::vector<std::size_t> free_;
};

}  // namespace

double four_digits(double value) {
  if (value < 1e-6) return 0.0;
  return std::stod(fmt::format("{:.4g}", value));
}

std::vector<double> usual_start(std::span<const ParameterInfo> infos) {
  std::vector<double> start;
  for (const ParameterInfo& info : infos) start.push_back(info.start);
  return start;
}

ModelFit fit_model(std::span<const ParameterInfo> infos,
                   const std::vector<std::vector<double>>& starts,
                   const std::vector<double>& measured,
                   const PredictRow& predict,
                   const ModelFitOptions& options) {
  SCHEDLAB_EXPECTS(!starts.empty() && !measured.empty(),
                   fmt::format("{} starts, {} rows", starts.size(), measured.size()));
  const Scale scale{infos};
  ModelFit best;
  for (const std::vector<double>& start : starts) {
    SCHEDLAB_EXPECTS(start.size() == infos.size(), fmt::format("{} values", start.size()));
    FittedParameters parameters;
    for (const double value : start) {
      parameters.values.push_back({.value = value, .low = value, .high = value});
    }
    const std::vector<double> from = scale.fitted(start);
    SCHEDLAB_EXPECTS(options.prior.empty() || options.prior.size() == from.size(),
                     fmt::format("{} prior widths", options.prior.size()));
    const auto residuals = [&](const std::vector<double>& at, std::vector<double>& out) {
      scale.set(at, parameters);
      out.resize(measured.size() + options.prior.size());
      for (std::size_t i = 0; i < measured.size(); ++i) {
        out[i] = std::log(predict(parameters, i) / measured[i]);
      }
      for (std::size_t j = 0; j < options.prior.size(); ++j) {
        out[measured.size() + j] = options.row_scatter * (at[j] - from[j]) / options.prior[j];
      }
    };
    RobustFit fit{.values = from, .intervals = {}};
    for (int round = 0; round < options.rounds; ++round) {
      fit = fit_robustly(
          residuals, fit.values, scale.bounds(), options.loss_scale, options.iterations);
    }
    scale.set(fit.values, parameters);
    scale.set_intervals(fit.intervals, parameters);
    const double cost = fit.cost / static_cast<double>(measured.size());
    if (!best.parameters.known() || cost < best.cost) best = {parameters, cost};
  }
  return best;
}

}  // namespace schedlab
