// SPDX-License-Identifier: Apache-2.0
// Parameters that made times are found again from these times.
#include "calibration/attention_fit.hpp"
#include "calibration/collective_fit.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace schedlab;

namespace {

/// A factor around 1 that a repeated measurement would show.
double noise(Rng& rng) {
  return 1 + 0.02 * (rng.uniform() - 0.5);
}

RowUse use_of(std::size_t i) {
  return i % 4 < 2 ? RowUse::fit : i % 4 == 2 ? RowUse::choose : RowUse::report;
}

constexpr Bandwidth device_link{450e9};

/// Two protocols' worth of rows: below 2 MiB sent 5 us + 0.9 us a step at half of the link, from
/// there 20 us + 0.5 us a step at 0.8 of it.
std::vector<CollectiveRow> collective_rows() {
  const auto made = [](double from, double base, double step, double share, double local) {
    FittedParameters one;
    for (const double v : {from, base, step, share, local}) one.values.push_back({v, v, v});
    return one;
  };
  const std::vector<FittedParameters> truth{made(0, 5, 0.9, 0.5, 200),
                                            made(2 << 20, 20, 0.5, 0.8, 600)};
  Rng rng{7};
  std::vector<CollectiveRow> rows;
  for (const auto op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    for (const double ranks : {2.0, 4.0}) {
      for (double bytes = 256; bytes <= 1 << 30; bytes *= 2) {
        const NodeCollective one{op, bytes, ranks};
        rows.push_back({.collective = one,
                        .us = to_us(fitted_time(truth, one, device_link).total()) * noise(rng),
                        .use = RowUse::fit});
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("protocols and the size at which they change are found, and say what eight ranks take") {
  const std::vector<FittedParameters> found = fit_protocols(collective_rows(), false, device_link);
  REQUIRE(found.size() == 3);
  using enum ProtocolParameter;
  CHECK(found[2][from_bytes] == 2 << 20);
  CHECK(found[2][link_share] == doctest::Approx(0.8).epsilon(0.03));
  CHECK(found[2][base_us] == doctest::Approx(20).epsilon(0.1));
  CHECK(found[1][step_us] == doctest::Approx(0.9).epsilon(0.1));
  // 14 steps of 128 MiB at 360 GB/s, the own part at 600 GB/s, 20 + 7 us.
  const double eight = 14 * 134217728 / 360e3 + 134217728 / 600e3 + 27;
  CHECK(to_us(fitted_time(found, {CollectiveOp::all_reduce, 1 << 30, 8}, device_link).total()) ==
        doctest::Approx(eight).epsilon(0.03));
  for (const FittedParameters& one : found) {
    for (const FittedValue& number : one.values) {
      CHECK(number.low <= number.value);
      CHECK(number.value <= number.high);
    }
  }
}

TEST_CASE("protocols are not made up from too few rows") {
  std::vector<CollectiveRow> rows = collective_rows();
  rows.resize(12);
  CHECK(fit_protocols(rows, false, device_link).empty());
  CHECK(fit_protocols(collective_rows(), true, device_link).empty());  // no all-to-alls
  CHECK_FALSE(fit_exchange({}, device_link).known());
  CHECK_FALSE(fit_context({}, {}).known());
}

TEST_CASE("rates of an exchange are found with its base") {
  std::vector<double> truth = usual_start(expert_parameters());
  truth[static_cast<std::size_t>(ExpertParameter::base_us)] = 30;
  truth[static_cast<std::size_t>(ExpertParameter::unit_gb_per_s)] = 18;
  truth[static_cast<std::size_t>(ExpertParameter::link_share)] = 0.6;
  FittedParameters parameters;
  for (const double v : truth) parameters.values.push_back({v, v, v});
  Rng rng{3};
  std::vector<ExchangeRow> rows;
  for (const double units : {4.0, 12.0, 24.0}) {
    for (const double hidden : {2048.0, 7168.0}) {
      for (double tokens = 1; tokens <= 65536; tokens *= 4) {
        const ExpertExchange one{
            .tokens = tokens, .hidden = hidden, .top_k = 8, .experts = 256, .units = units};
        rows.push_back(
            {one, exchange_time(parameters, one, device_link).us * noise(rng), RowUse::fit});
      }
    }
  }
  const FittedParameters found = fit_exchange(rows, device_link);
  REQUIRE(found.known());
  CHECK(found[ExpertParameter::base_us] == doctest::Approx(30).epsilon(0.05));
  CHECK(found[ExpertParameter::unit_gb_per_s] == doctest::Approx(18).epsilon(0.1));
  CHECK(found[ExpertParameter::link_share] == doctest::Approx(0.6).epsilon(0.1));
}

TEST_CASE("attention is fitted to rows of its own time and predicts rows that it has not seen") {
  const AttentionDevice device{.units = 108, .flop = 312e6, .byte = 2039e3};
  FittedParameters context;
  for (double v : usual_start(context_parameters())) context.values.push_back({v, v, v});
  FittedParameters generation;
  for (double v : usual_start(generation_parameters())) generation.values.push_back({v, v, v});
  context.values[static_cast<std::size_t>(ContextParameter::efficiency)].value = 0.45;
  generation.values[static_cast<std::size_t>(GenerationParameter::memory_share)].value = 0.7;
  Rng rng{5};
  std::vector<AttentionRow> rows;
  std::size_t count = 0;
  for (const std::int64_t sequences : {1, 8, 64, 256}) {
    for (const std::int64_t tokens : {16, 200, 1000, 4000, 16000}) {
      for (const auto& [heads, kv_heads] : {std::pair{8, 8}, {32, 8}, {64, 1}}) {
        for (const std::int64_t head : {64, 128, 256}) {
          for (const bool one_token : {false, true}) {
            AttentionRow row{.shape = {.sequences = sequences,
                                       .queries = one_token ? 1 : tokens,
                                       .keys = tokens,
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .head = head}};
            row.us = attention_us(context, generation, row.shape, device) * noise(rng);
            row.use = use_of(count++ / 2);
            rows.push_back(row);
          }
        }
      }
    }
  }
  const FittedParameters found_context = fit_context(rows, device);
  const FittedParameters found_generation = fit_generation(rows, device);
  REQUIRE(found_context.known());
  REQUIRE(found_generation.known());
  CHECK(found_context[ContextParameter::efficiency] == doctest::Approx(0.45).epsilon(0.05));
  CHECK(found_generation[GenerationParameter::memory_share] == doctest::Approx(0.7).epsilon(0.05));
  for (const AttentionRow& row : rows) {
    if (row.use != RowUse::report) continue;
    CAPTURE(row.shape.sequences);
    CAPTURE(row.shape.keys);
    CHECK(attention_us(found_context, found_generation, row.shape, device) ==
          doctest::Approx(row.us).epsilon(0.1));
  }
}

TEST_CASE("tables of collectives and attention are known by their columns, bad ones refused") {
  MachineSpec machine = load_machine("h100");
  const OperatorTable table = OperatorTable::parse(
      "collective,data_type,gpus,message_size,time_us\nall_shuffle,half,2,256,5\n", "t.csv");
  CHECK(table.kind(0) == "collective");
  CHECK_THROWS_WITH_AS((void)calibrate_collectives({{&table, 0}}, DataType::bf16, {}, machine),
                       doctest::Contains("all_shuffle"),
                       InputError);
  const OperatorTable attention = OperatorTable::parse(
      "batch,input_length,step,heads,kv_heads,head_dim,time_us\n1,16,0,6,4,128,5\n", "a.csv");
  CHECK(attention.kind(0) == "attention");
  CHECK_THROWS_AS((void)calibrate_attention({{&attention, 0}}, DataType::bf16, {}, machine),
                  InputError);
  machine.platform.network.device.bandwidth = Bandwidth{0.0};
  CHECK_THROWS_WITH_AS((void)calibrate_collectives({{&table, 0}}, DataType::bf16, {}, machine),
                       doctest::Contains("device_link_gb_per_s"),
                       InfeasibleError);
}
