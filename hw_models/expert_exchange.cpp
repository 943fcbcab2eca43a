// SPDX-License-Identifier: Apache-2.0
#include "hw_models/expert_exchange.hpp"

#include <array>
#include <cmath>

namespace schedlab {
namespace {

constexpr std::array<ParameterInfo, 8> infos{{
    {"base_us", 0.1, 200, 25, "whatever is sent"},
    {"us_per_kib", 0, 50, 0.5, "for each KiB of a token's 16-bit elements, however many tokens"},
    {"token_us", 0, 20, 0.05, "of a unit, for each token"},
    {"copy_us", 0, 20, 0.05, "of a unit, for each rank that a token goes to"},
    {"unit_gb_per_s", 1, 500, 25, "of 16-bit elements that one unit moves"},
    {"link_share",
     0.01,
     4,
     0.8,
     "of a device's link, counted in 16-bit elements; of 8 bits: twice"},
    {"overlap", 1, 8, 3, "of units and link; 1: one after the other, large: the slower decides"},
    {"fill_us", 0, 500, 15, "filling and emptying the pipeline of chunks, at most"},
}};
constexpr double half_filled_us = 50;  // in the formula

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

double token_bytes(const ExpertExchange& exchange) {
  return 2 * exchange.hidden;
}

/// Of one unit, for one token.
double unit_us(const FittedParameters& fitted, const ExpertExchange& exchange) {
  using enum ExpertParameter;
  const double moved = token_bytes(exchange) / (fitted[unit_gb_per_s] * 1e3);
  return fitted[token_us] + expected_copies(exchange) * (fitted[copy_us] + moved);
}

double link_us(const FittedParameters& fitted, const ExpertExchange& exchange, Bandwidth link) {
  return expected_copies(exchange) * token_bytes(exchange) /
         (fitted[ExpertParameter::link_share] * link.count() / 1e6);
}

}  // namespace

std::span<const ParameterInfo> expert_parameters() {
  return infos;
}

double expected_copies(const ExpertExchange& exchange) {
  const double elsewhere = exchange.experts - exchange.experts / exchange.ranks;
  if (exchange.top_k > elsewhere) return exchange.ranks;
  const double missed = std::exp(log_choose(elsewhere, exchange.top_k) -
                                 log_choose(exchange.experts, exchange.top_k));
  return exchange.ranks * (1 - missed);
}

ExchangeTime exchange_time(const FittedParameters& fitted,
                           const ExpertExchange& exchange,
                           Bandwidth link) {
  using enum ExpertParameter;
  ExchangeTime time;
  time.units_us = exchange.tokens * unit_us(fitted, exchange) / exchange.units;
  time.link_us = exchange.tokens * link_us(fitted, exchange, link);
  const double p = fitted[overlap];
  const double move = std::pow(std::pow(time.units_us, p) + std::pow(time.link_us, p), 1 / p);
  time.us = fitted[base_us] + token_bytes(exchange) / 1024 * fitted[us_per_kib] + move +
            fitted[fill_us] * move / (move + half_filled_us);
  return time;
}

}  // namespace schedlab
