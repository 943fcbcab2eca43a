// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/engine_study.hpp"

#include "hw_models/engine_fit.hpp"
#include "studies/reproduction/engine_rows.hpp"
#include "studies/reproduction/engine_runs.hpp"
#include "workloads/registry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array processors{Processor::array, Processor::management_core};
constexpr std::array convolutions{
    EngineClass::conv_forward, EngineClass::conv_weight_gradient, EngineClass::conv_data_gradient};

constexpr std::size_t index_of(EngineClass engine_class) {
  return static_cast<std::size_t>(engine_class);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The published times of a network, and the work of its graph.
struct TimedNetwork {
  const PublishedNetwork* published = nullptr;
  std::array<EngineSample, 2> samples;  ///< by Processor

  [[nodiscard]] const EngineSample& on(Processor processor) const {
    return samples[static_cast<std::size_t>(processor)];
  }
  [[nodiscard]] EngineSamples both() const {
    return {.array = on(Processor::array), .management = on(Processor::management_core)};
  }
};

TimedNetwork read_network(const EngineStudySpec& spec, const PublishedNetwork& published) {
  ByEngineClass<std::vector<std::string>> timed;
  for (const TimedClass& each : spec.classes) timed[index_of(each.engine_class)] = each.operations;
  const TaskGraph graph = engine_graph(spec, published.workload, 1);
  TimedNetwork network{.published = &published, .samples = {}};
  network.samples.fill(engine_sample(published.workload, graph, timed));
  for (std::size_t i = 0; i < spec.classes.size(); ++i) {
    const std::size_t at = index_of(spec.classes[i].engine_class);
    network.samples[0].timed_seconds[at] = published.array_ms[i] / 1e3;
    network.samples[1].timed_seconds[at] = published.management_ms[i] / 1e3;
  }
  network.samples[0].step_seconds = published.array_step_s;
  network.samples[1].step_seconds = published.management_step_s;
  return network;
}

using CostsOfBoth = std::array<ByEngineClass<ClassCost>, 2>;

double conv_seconds(const ByEngineClass<ClassCost>& costs, const EngineSample& sample) {
  double sum = 0;
  for (const EngineClass each : convolutions) {
    sum += costs[index_of(each)].seconds(sample.all_work[index_of(each)]);
  }
  return sum;
}

class FitTable {
 public:
  FitTable(const EngineStudySpec& spec, const std::vector<TimedNetwork>& networks, Table& table)
      : spec_(spec), networks_(networks), table_(table) {}

  void add_all() {
    for (const TimedNetwork& network : networks_) add_published(network);
    for (std::size_t a = 0; a < networks_.size(); ++a) {
      for (std::size_t b = a + 1; b < networks_.size(); ++b) add_pair(a, b);
    }
    add_residuals();
  }

  [[nodiscard]] CostsOfBoth fit(const std::vector<std::size_t>& members) const {
    CostsOfBoth costs;
    for (const Processor processor : processors) {
      std::vector<EngineSample> samples;
      samples.reserve(members.size());
      for (const std::size_t i : members) samples.push_back(networks_[i].on(processor));
      costs[static_cast<std::size_t>(processor)] = fit_engine(processor, samples);
    }
    return costs;
  }

  [[nodiscard]] CostsOfBoth fit_all() const {
    std::vector<std::size_t> members(networks_.size());
    std::iota(members.begin(), members.end(), std::size_t{0});
    return fit(members);
  }

 private:
  /// What the publication's tables say of each other.
  void add_published(const TimedNetwork& network) {
    const PublishedNetwork& times = *network.published;
    EngineRow row{.quantity = "table_ratio", .network = times.workload, .fitted_on = "nothing"};
    double timed_ms = 0;
    for (std::size_t i = 0; i < spec_.classes.size(); ++i) {
      row.operator_class = to_string(spec_.classes[i].engine_class);
      row.value = times.management_ms[i] / times.array_ms[i];
      add_row(table_, row);
      timed_ms += times.array_ms[i];
    }
    row.operator_class = "step";
    row.value = times.management_step_s / times.array_step_s;
    add_row(table_, row);
    row.quantity = "table_share";
    for (std::size_t i = 0; i < spec_.classes.size(); ++i) {
      row.operator_class = to_string(spec_.classes[i].engine_class);
      row.value = 0.1 * times.array_ms[i] / times.array_step_s;
      add_row(table_, row);
    }
    row.quantity = "table_coverage";
    row.operator_class.clear();
    row.value = 0.1 * timed_ms / times.array_step_s;
    add_row(table_, row);
    row.quantity = "table_bandwidth";
    double bytes = 0;
    for (const EngineWork& work : network.on(Processor::array).all_work) bytes += work.moved_bytes;
    row.value = 1e-9 * bytes / times.array_step_s;
    add_row(table_, row);
  }

  void add_pair(std::size_t a, std::size_t b) {
    const std::string label =
        networks_[a].published->workload + "+" + networks_[b].published->workload;
    const CostsOfBoth costs = fit({a, b});
    for (const Processor processor : processors) {
      std::vector<double> errors;
      for (std::size_t i = 0; i < networks_.size(); ++i) {
        if (i == a || i == b) continue;
        errors.push_back(add_prediction(networks_[i], processor, costs, label));
      }
      const auto add = [&](const char* quantity, double percent) {
        add_row(table_,
                {.quantity = quantity,
                 .processor = std::string{to_string(processor)},
                 .fitted_on = label,
                 .value = percent});
      };
      add("pair_median", median_of(errors));
      add("pair_mean",
          std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size()));
      add("pair_worst", *std::max_element(errors.begin(), errors.end()));
    }
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      if (i != a && i != b) add_shares(networks_[i], costs, label);
    }
  }

  /// Returns the error of the step in per cent.
  double add_prediction(const TimedNetwork& network,
                        Processor processor,
                        const CostsOfBoth& both,
                        const std::string& label) {
    const auto& costs = both[static_cast<std::size_t>(processor)];
    const EngineSample& sample = network.on(processor);
    EngineRow row{.quantity = "class_time",
                  .network = network.published->workload,
                  .processor = std::string{to_string(processor)},
                  .fitted_on = label};
    for (const TimedClass& each : spec_.classes) {
      const std::size_t at = index_of(each.engine_class);
      row.operator_class = to_string(each.engine_class);
      row.value = 1e3 * costs[at].seconds(sample.timed_work[at]);
      row.published = 1e3 * sample.timed_seconds[at];
      add_row(table_, row);
    }
    row.quantity = "step_time";
    row.operator_class = "step";
    row.value = step_seconds(costs, sample);
    row.published = sample.step_seconds;
    add_row(table_, row);
    return 100 * std::abs(row.value / sample.step_seconds - 1);
  }

  void add_shares(const TimedNetwork& network, const CostsOfBoth& costs, const std::string& label) {
    const EngineSample& sample = network.on(Processor::array);
    const double array = step_seconds(costs[0], sample);
    EngineRow row{.quantity = "many_core",
                  .network = network.published->workload,
                  .fitted_on = label,
                  .value = step_seconds(costs[1], sample) / array};
    add_row(table_, row);
    row.quantity = "non_conv_share";
    row.value = 100 * (1 - conv_seconds(costs[0], sample) / array);
    add_row(table_, row);
  }

  void add_residuals() {
    const CostsOfBoth costs = fit_all();
    for (const Processor processor : processors) {
      for (const TimedNetwork& network : networks_) {
        const EngineSample& sample = network.on(processor);
        for (const TimedClass& each : spec_.classes) {
          const std::size_t at = index_of(each.engine_class);
          const double fitted =
              costs[static_cast<std::size_t>(processor)][at].seconds(sample.timed_work[at]);
          add_row(table_,
                  {.quantity = "fit_residual",
                   .network = network.published->workload,
                   .operator_class = std::string{to_string(each.engine_class)},
                   .processor = std::string{to_string(processor)},
                   .fitted_on = "all",
                   .value = 100 * std::abs(fitted / sample.timed_seconds[at] - 1)});
        }
      }
    }
  }

  const EngineStudySpec& spec_;
  const std::vector<TimedNetwork>& networks_;
  Table& table_;
};

/// Returns the largest: with it no network's framework takes a negative time.
double add_rest_ratios(const BothCosts& costs,
                       const std::vector<TimedNetwork>& networks,
                       Table& table) {
  double largest = 0;
  for (const TimedNetwork& network : networks) {
    const double ratio = rest_ratio(costs, network.both());
    add_row(table,
            {.quantity = "rest_ratio",
             .network = network.published->workload,
             .fitted_on = "both",
             .value = ratio});
    largest = std::max(largest, ratio);
  }
  return largest;
}

template <class Value>
void add_value(std::vector<Cell>& cells, const Value& value) {
  const Cell cell{value};
  if (std::find(cells.begin(), cells.end(), cell) == cells.end()) cells.push_back(cell);
}

}  // namespace

// By the order of engine_columns().
std::vector<std::vector<Cell>> engine_axis_values(const EngineStudySpec& spec) {
  std::vector<std::vector<Cell>> values(engine_columns().size());
  for (const char* quantity : {"class_time",
                               "step_time",
                               "pair_median",
                               "pair_mean",
                               "pair_worst",
                               "many_core",
                               "non_conv_share",
                               "table_ratio",
                               "table_share",
                               "table_coverage",
                               "table_bandwidth",
                               "fit_residual",
                               "rest_ratio",
                               "framework_ms",
                               "speed_up",
                               "best_speed_up",
                               "best_split",
                               "split_gain"}) {
    add_value(values[0], std::string{quantity});
  }
  for (const PublishedNetwork& each : spec.networks) add_value(values[1], each.workload);
  for (const TimedClass& each : spec.classes) {
    add_value(values[2], std::string{to_string(each.engine_class)});
  }
  add_value(values[2], std::string{"step"});
  for (const Processor each : processors) add_value(values[3], std::string{to_string(each)});
  for (std::size_t a = 0; a < spec.networks.size(); ++a) {
    for (std::size_t b = a + 1; b < spec.networks.size(); ++b) {
      add_value(values[4], spec.networks[a].workload + "+" + spec.networks[b].workload);
    }
  }
  for (const char* word : {"nothing", "all", "own", "both", "both_in_turn", "machine"}) {
    add_value(values[4], std::string{word});
  }
  for (const double share : spec.operator_shares) add_value(values[5], share);
  for (const std::int64_t split : spec.splits) add_value(values[6], split);
  for (const std::string& policy : spec.policies) add_value(values[7], policy);
  for (const double cost : spec.scheduling_us) add_value(values[8], cost);
  return values;
}

Table run_engine_study(const EngineStudySpec& spec,
                       const StopFlag* stop,
                       const std::function<void(std::uint64_t done)>& observer) {
  Table table;
  table.columns = engine_columns();
  std::vector<TimedNetwork> networks;
  for (const PublishedNetwork& published : spec.networks) {
    networks.push_back(read_network(spec, published));
  }
  FitTable fits{spec, networks, table};
  fits.add_all();
  const CostsOfBoth all = fits.fit_all();
  const BothCosts both{.array = all[0], .management = all[1]};
  const double speed_up = add_rest_ratios(both, networks, table);
  EngineRuns runs{spec, stop, observer, table};
  for (const TimedNetwork& network : networks) {
    const std::string& name = network.published->workload;
    for (const double share : spec.operator_shares) {
      runs.add(
          {.quantity = "speed_up", .network = name, .fitted_on = "own", .operator_share = share},
          scaled_to(all[0], network.on(Processor::array), share));
    }
    const OwnCosts own = scaled_to_both(both, network.both(), speed_up);
    add_row(table,
            {.quantity = "framework_ms",
             .network = name,
             .fitted_on = "both",
             .value = 1e3 * own.framework_seconds});
    runs.add({.quantity = "speed_up", .network = name, .fitted_on = "both"}, own);
    runs.add({.quantity = "speed_up", .network = name, .fitted_on = "both_in_turn"}, own, true);
    runs.add({.quantity = "speed_up", .network = name, .fitted_on = "all"}, {.of = all[0]});
    runs.add({.quantity = "speed_up", .network = name, .fitted_on = "machine"}, {});
  }
  return table;
}

}  // namespace schedlab
