// SPDX-License-Identifier: Apache-2.0
#include "calibration/attention_fit.hpp"

#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t min_attention_rows = 40;
constexpr double element_bytes = 2;

struct AttentionFits {
  const FittedParameters& context;
  const FittedParameters& generation;
  const AttentionDevice& device;
};

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
  if (fitted.size() < min_attention_rows) return {};
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
    const bool mixed = row.prompt && row.shape.queries == 1;  // of a library's choice
    if (!mixed && (row.shape.queries == 1) == one_token) kept.push_back(row);
  }
  return kept;
}

/// Errors on rows of some use that `belongs` takes; nothing added without rows.
template <class Belongs>
void add_errors(const std::vector<AttentionRow>& rows,
                RowUse use,
                const std::string& region,
                const AttentionFits& fits,
                const Belongs& belongs,
                std::vector<RegionError>& errors) {
  RegionErrors found;
  for (const AttentionRow& row : rows) {
    const bool one_token = row.shape.queries == 1;
    if (row.use != use || !(one_token ? fits.generation : fits.context).known()) continue;
    if (belongs(row)) {
      found.add(attention_us(fits.context, fits.generation, row.shape, fits.device), row.us);
    }
  }
  RegionError summary = found.summary(region);
  if (summary.rows > 0) errors.push_back(std::move(summary));
}

void report_attention(const std::vector<AttentionRow>& rows,
                      const AttentionFits& fits,
                      OperatorFit& fit) {
  const auto all = [](const AttentionRow&) { return true; };
  add_errors(rows, RowUse::fit, "fitted", fits, all, fit.used);
  add_errors(rows, RowUse::choose, "choosing", fits, all, fit.used);
  const auto report = [&](const std::string& region, const auto& belongs) {
    add_errors(rows, RowUse::report, region, fits, belongs, fit.report);
  };
  report("all", all);
  const auto context = [](const AttentionRow& row) { return row.shape.queries > 1; };
  const auto generation = [](const AttentionRow& row) { return !row.prompt; };
  report("context", context);
  report("generation", generation);
  report("prompts of one token",
         [](const AttentionRow& row) { return row.prompt && row.shape.queries == 1; });
  for (const std::int64_t tokens : {128, 1024, 4096, 16384}) {
    const std::int64_t from = tokens == 128 ? 2 : tokens == 1024 ? 129 : tokens / 4 + 1;
    report(fmt::format("context, {} to {} tokens", from, tokens), [&](const AttentionRow& row) {
      return context(row) && row.shape.queries >= from && row.shape.queries <= tokens;
    });
  }
  for (const std::int64_t keys : {128, 4096, 1 << 20}) {
    const std::int64_t from = keys == 128 ? 1 : keys == 4096 ? 129 : 4097;
    report(fmt::format("generation, from {} keys", from), [&](const AttentionRow& row) {
      return generation(row) && row.shape.keys >= from && row.shape.keys <= keys;
    });
  }
  for (const std::int64_t head : {64, 128, 192, 256, 512}) {
    report(fmt::format("head of {}", head),
           [&](const AttentionRow& row) { return row.shape.head == head; });
  }
}

template <class Parameter>
void set(std::vector<double>& values, Parameter parameter, double value) {
  values[static_cast<std::size_t>(parameter)] = value;
}

}  // namespace

std::vector<AttentionRow> attention_rows(const std::vector<TableRow>& rows) {
  std::vector<AttentionRow> all;
  for (const auto& [table, row] : rows) {
    const std::int64_t step = table->whole(row, "step");
    const std::int64_t length = table->whole(row, "input_length");
    AttentionRow one{.shape = {.sequences = table->whole(row, "batch"),
                               .queries = step == 0 ? length : 1,
                               .keys = length + step,
                               .heads = table->whole(row, "heads"),
                               .kv_heads = table->whole(row, "kv_heads"),
                               .head = table->whole(row, "head_dim")},
                     .us = table->microseconds(row)};
    if (!is_valid(one.shape))
      table->reject(row, "heads", "no attention", "a shape that one can have");
    one.prompt = step == 0;
    one.use = row_use(fmt::format("{} {} {} {} {} {} {}",
                                  one.prompt ? "context" : "generation",
                                  one.shape.sequences,
                                  length,
                                  step,
                                  one.shape.heads,
                                  one.shape.kv_heads,
                                  one.shape.head));
    all.push_back(one);
  }
  return all;
}

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

OperatorFit calibrate_attention(const std::vector<TableRow>& rows,
                                DataType type,
                                const TableOptions& options,
                                MachineSpec& machine) {
  Device& device = machine.platform.devices[DeviceId{0}];
  const AttentionDevice rates = attention_device(device, type);
  const std::vector<AttentionRow> all = attention_rows(rows);
  options.progress("attention of prompts");
  const bool fits_type = bytes_per_element(type) == static_cast<std::int64_t>(element_bytes);
  if (!fits_type) rows.front().table->reject(rows.front().row, "type", "another", "fp16 or bf16");
  auto profile = device.profile == nullptr ? std::make_shared<KernelProfile>()
                                           : std::make_shared<KernelProfile>(*device.profile);
  FittedParameters context = fit_context(all, rates);
  options.progress("attention of new tokens");
  FittedParameters generation = fit_generation(all, rates);
  OperatorFit fit{.kind = "attention",
                  .type = type,
                  .tables = file_names(rows),
                  .used = {},
                  .report = {},
                  .readings = {}};
  report_attention(all, {context, generation, rates}, fit);
  for (auto* const made : {&context, &generation}) {
    if (made->known()) made->source = fit_origin(fit, options);
  }
  if (context.known()) profile->context = context;
  if (generation.known()) profile->generation = generation;
  device.profile = std::move(profile);
  return fit;
}

double attention_us(const FittedParameters& context,
                    const FittedParameters& generation,
                    const AttentionShape& shape,
                    const AttentionDevice& device) {
  return shape.queries == 1 ? generation_time(generation, shape, element_bytes, device).us
                            : context_time(context, shape, element_bytes, device).us;
}

}  // namespace schedlab
