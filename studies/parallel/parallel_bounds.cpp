// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_bounds.hpp"

#include "sim/graph/collective.hpp"
#include "sim/pipeline/stage_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace schedlab {
namespace {

/// Of all but the last layer: the next one is their only reader.
bool chain_of(const LayerGraph& graph) {
  return std::all_of(graph.layers.ids().begin(), graph.layers.ids().end(), [&](LayerId id) {
    const std::vector<LayerId>& inputs = graph.layers[id].inputs;
    return id.value() == 0 ? inputs.empty()
                           : inputs.size() == 1 && inputs.front().value() + 1 == id.value();
  });
}

/// Number of ways to cut so many layers; at most `most`.
std::uint64_t number_of_cuts(std::uint64_t layers, std::uint64_t stages, std::uint64_t most) {
  std::uint64_t count = 1;
  for (std::uint64_t i = 1; i < stages; ++i) {
    count = count * (layers - i) / i;
    if (count > most) return most + 1;
  }
  return count;
}

/// The `most` best cuts so far.
class BestCuts {
 public:
  BestCuts(std::size_t most, Bytes memory, ParallelCuts& result)
      : most_(most), memory_(memory), result_(result) {}

  void add(const std::vector<std::int64_t>& layers_per_stage, const ParallelBound& bound) {
    if (memory_ > Bytes{0} && bound.memory > memory_) {
      ++result_.too_large;
      return;
    }
    ++result_.fitting;
    auto& cuts = result_.cuts;
    if (cuts.size() == most_ && bound.time >= cuts.back().bound.time) {
      result_.others = std::min(result_.others, bound.time);
      return;
    }
    const auto at = std::upper_bound(
        cuts.begin(), cuts.end(), bound.time, [](Duration time, const ParallelCut& cut) {
          return time < cut.bound.time;
        });
    cuts.insert(at, {layers_per_stage, bound});
    if (cuts.size() <= most_) return;
    result_.others = std::min(result_.others, cuts.back().bound.time);
    cuts.pop_back();
  }

 private:
  std::size_t most_;
  Bytes memory_;
  ParallelCuts& result_;
};

/// The next way to give each stage a layer at least; false after the last.
bool next_cut(std::vector<std::int64_t>& counts) {
  // As an odometer: the rightmost stage but the last that can take one of those behind it.
  const std::size_t last = counts.size() - 1;
  std::int64_t behind = counts[last];
  for (std::size_t i = last; i-- > 0;) {
    const auto stages_behind = static_cast<std::int64_t>(last - i);
    if (behind > stages_behind) {
      ++counts[i];
      --behind;
      for (std::size_t j = i + 1; j < last; ++j) counts[j] = 1;
      counts[last] = behind - (stages_behind - 1);
      return true;
    }
    behind += counts[i];
  }
  return false;
}

}  // namespace

void ParallelBounds::choose(const ParallelChoice& choice) {
  choice_ = choice;
  const CostedLayers& layers = space_.layers(choice);
  graph_ = &layers.graph;
  is_chain_ = chain_of(*graph_);
  routes_ = Routes{platform_.network, choice.devices()};
  platform_.ranks = choice.devices();
  sums_ = {};
  const auto start = [](auto&... sums) { (sums.assign(1, {}), ...); };
  start(sums_.forward, sums_.data, sums_.weight, sums_.update);
  start(sums_.computed_forward, sums_.computed_data, sums_.computed_weight);
  start(sums_.parameters, sums_.tied, sums_.kept);
  const auto add = [](auto& sums, auto value) { sums.push_back(sums.back() + value); };
  std::set<std::string> tied;
  for (const LayerId id : graph_->layers.ids()) {
    const Layer& layer = graph_->layers[id];
    const LayerTimes& times = layers.times[id];
    add(sums_.forward, times.forward);
    add(sums_.data, times.backward_data);
    add(sums_.weight, times.backward_weight);
    add(sums_.update, times.update);
    const LayerTimes& computing = layers.computing[id];
    add(sums_.computed_forward, computing.forward);
    add(sums_.computed_data, computing.backward_data);
    add(sums_.computed_weight, computing.backward_weight);
    const std::int64_t bytes = layer.parameters.count();
    const bool shared = !layer.tied.empty();
    add(sums_.parameters, shared ? 0 : bytes);
    // A stage with a further copy has it too, unless it has the first: that is left out.
    add(sums_.tied, shared && tied.insert(layer.tied).second ? bytes : 0);
    add(sums_.kept, layer.kept.count());
  }
}

Duration ParallelBounds::stage_work(std::uint32_t begin, std::uint32_t end, bool weights) const {
  const auto part = [&](const std::vector<Duration>& sums) { return sums[end] - sums[begin]; };
  const auto passes = [&](const auto& forward, const auto& data, const auto& weight) {
    return (choice_.recompute ? 2 : 1) * part(forward) + part(data) +
           (weights ? part(weight) : Duration{0});
  };
  const Duration all = passes(sums_.forward, sums_.data, sums_.weight);
  if (!choice_.overlap) return all;
  const Duration computed =
      passes(sums_.computed_forward, sums_.computed_data, sums_.computed_weight);
  return std::max(computed, all - computed);
}

void ParallelBounds::make_stages(std::span<const std::int64_t> layers_per_stage) {
  stages_.assign(layers_per_stage.size(), {});
  std::uint32_t begin = 0;
  for (std::uint32_t k = 0; k < stages_.size(); ++k) {
    Stage& stage = stages_[k];
    stage.begin = begin;
    stage.end = begin + static_cast<std::uint32_t>(layers_per_stage[k]);
    begin = stage.end;
    const auto part = [&](const auto& sums) { return sums[stage.end] - sums[stage.begin]; };
    stage.forward = part(sums_.forward);
    stage.data = part(sums_.data);
    stage.weight = part(sums_.weight);
    stage.update = part(sums_.update);
    // What divides optimizer states or sums copies of a stage does other collectives, and so do
    // ranks that share experts.
    if (choice_.zero == 0 && choice_.copies() == 1 && choice_.expert_parallel == 1) {
      stage.sum = gradient_sum(Bytes{part(sums_.parameters)}, choice_.place(k, 0));
    }
    if (choice_.zero > 0) stage.update = Duration{stage.update.count() / choice_.replicas};
    const std::int64_t parameters = part(sums_.parameters) + part(sums_.tied);
    const auto share = [&](std::int64_t zero) {
      return static_cast<double>(parameters) / (choice_.zero >= zero ? choice_.replicas : 1U);
    };
    stage.state = Bytes{
        static_cast<std::int64_t>(std::floor(share(3) + space_.optimizer_copies() * share(1)))};
    stage.working = Bytes{part(sums_.kept) + static_cast<std::int64_t>(std::floor(share(2)))};
  }
}

Duration ParallelBounds::message(std::uint32_t from, std::uint32_t to, Bytes bytes) const {
  const std::uint32_t a = choice_.place(from, 0) * choice_.lanes();
  const std::uint32_t b = choice_.place(to, 0) * choice_.lanes();
  if (a == b || platform_.network.topology == Topology::none) return Duration{0};
  const Bandwidth narrowest = routes_.narrowest(a, b);
  return routes_.latency(a, b) + (narrowest.count() > 0 ? bytes / narrowest : Duration{0});
}

Duration ParallelBounds::gradient_sum(Bytes bytes, std::uint32_t place) {
  if (choice_.replicas < 2 || bytes <= Bytes{0}) return Duration{0};
  const auto [found, is_new] = known_sums_.try_emplace(
      {bytes, place, choice_.replicas, choice_.places(), choice_.tensor_parallel});
  if (!is_new) return found->second;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t g = 0; g < choice_.replicas; ++g) {
    ranks.push_back((g * choice_.places() + place) * choice_.tensor_parallel);
  }
  const Operation part{.name = "part", .kind = TaskKind::collective};
  found->second =
      model_
          .estimate_collective(
              part, {.op = CollectiveOp::all_reduce, .bytes = bytes}, ranks, platform_, DeviceId{0})
          .duration;
  return found->second;
}

/// first, back and after of all stages, along who reads what.
void ParallelBounds::walk_edges() {
  links_.clear();
  if (is_chain_) {
    for (std::uint32_t k = 1; k < stages_.size(); ++k) {
      links_[{k - 1, k}] = graph_->layers[LayerId{stages_[k].begin - 1}].activation;
    }
  } else {
    stage_of_.clear();
    for (std::uint32_t k = 0; k < stages_.size(); ++k) {
      stage_of_.insert(stage_of_.end(), stages_[k].end - stages_[k].begin, k);
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> sent;  // layer, stage
    for (const LayerId id : graph_->layers.ids()) {
      for (const LayerId input : graph_->layers[id].inputs) {
        const std::uint32_t from = stage_of_[input.value()];
        const std::uint32_t to = stage_of_[id.value()];
        if (from >= to || !sent.emplace(input.value(), to).second) continue;
        links_[{from, to}] += graph_->layers[input].activation;
      }
    }
  }
  // By rising reader: what a stage reads is known before it.
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, Bytes>> by_reader(links_.begin(),
                                                                                   links_.end());
  std::stable_sort(by_reader.begin(), by_reader.end(), [](const auto& a, const auto& b) {
    return a.first.second < b.first.second;
  });
  std::size_t next = 0;
  for (std::uint32_t k = 0; k < stages_.size(); ++k) {
    Stage& stage = stages_[k];
    for (; next < by_reader.size() && by_reader[next].first.second == k; ++next) {
      const Stage& from = stages_[by_reader[next].first.first];
      const Duration way = message(by_reader[next].first.first, k, by_reader[next].second);
      stage.first = std::max(stage.first, from.first + from.forward + way);
      stage.back = std::max(stage.back, way + from.data + from.after);
    }
    stage.after = std::max(stage.back, stage.weight + stage.sum + stage.update);
  }
}

ParallelBound ParallelBounds::of(std::span<const std::int64_t> layers_per_stage) {
  make_stages(layers_per_stage);
  walk_edges();
  struct Rank {
    Duration first = Duration::max();
    Duration work{0};
    Bytes state{};
    Bytes working{};
  };
  std::vector<Rank> ranks(choice_.places());
  ParallelBound bound;
  for (std::uint32_t k = 0; k < stages_.size(); ++k) {
    const Stage& stage = stages_[k];
    const Duration work = stage_work(stage.begin, stage.end);
    const Duration without_weights = stage_work(stage.begin, stage.end, false);
    for (std::uint32_t copy = 0; copy < choice_.copies(); ++copy) {
      // The first of two copies has the larger half of the microbatches.
      const std::int64_t m =
          (choice_.microbatches + choice_.copies() - 1 - copy) / choice_.copies();
      if (m == 0) continue;
      bound.time = std::max({bound.time,
                             stage.first + m * work + stage.sum + stage.update,
                             stage.first + m * without_weights + stage.back});
      Rank& rank = ranks[choice_.place(k, copy)];
      rank.first = std::min(rank.first, stage.first);
      rank.work += m * work + stage.update;
      rank.state += stage.state;
      rank.working = std::max(rank.working, stage.working);
    }
    bound.sums = std::max(bound.sums, stage.sum);
  }
  for (const Rank& rank : ranks) {
    if (rank.work == Duration{0}) continue;
    bound.time = std::max(bound.time, rank.first + rank.work);
    bound.memory = std::max(bound.memory, rank.state + rank.working);
  }
  return bound;
}

/// Fills stage after stage up to the limit, leaving a layer for each that follows.
bool ParallelBounds::fill(Duration limit, std::vector<std::int64_t>& counts) const {
  const auto layers = static_cast<std::uint32_t>(graph_->layers.size());
  counts.assign(choice_.stages, 0);
  std::uint32_t begin = 0;
  for (std::uint32_t k = 0; k < choice_.stages; ++k) {
    const std::uint32_t most = layers - (choice_.stages - 1 - k);
    std::uint32_t end = begin + 1;
    if (stage_work(begin, end) > limit) return false;
    while (end < most && stage_work(begin, end + 1) <= limit) ++end;
    counts[k] = end - begin;
    begin = end;
  }
  return begin == layers;
}

std::vector<std::int64_t> ParallelBounds::balanced_cut() const {
  const auto layers = static_cast<std::uint32_t>(graph_->layers.size());
  std::int64_t low = 0;
  std::int64_t high = stage_work(0, layers).count();
  std::vector<std::int64_t> counts;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fill(Duration{middle}, counts)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  static_cast<void>(fill(Duration{high}, counts));
  return counts;
}

Duration ParallelBounds::of_all_cuts() const {
  const std::vector<std::int64_t> counts = balanced_cut();
  Duration longest{0};
  std::uint32_t begin = 0;
  for (const std::int64_t count : counts) {
    const std::uint32_t end = begin + static_cast<std::uint32_t>(count);
    longest = std::max(longest, stage_work(begin, end));
    begin = end;
  }
  const auto layers = static_cast<std::int64_t>(graph_->layers.size());
  const Duration all = stage_work(0, static_cast<std::uint32_t>(layers));
  const Duration share{all.count() / choice_.places()};
  return choice_.microbatches *
         std::max(choice_.copies() > 1 ? Duration{longest.count() / 2} : longest, share);
}

ParallelCuts best_cuts(ParallelBounds& bounds,
                       const ParallelChoice& choice,
                       std::size_t layers,
                       Bytes memory,
                       std::size_t most,
                       std::uint64_t most_enumerated) {
  ParallelCuts result;
  BestCuts best(most, memory, result);
  bounds.choose(choice);
  if (number_of_cuts(layers, choice.stages, most_enumerated) > most_enumerated) {
    result.all = false;
    result.others = bounds.of_all_cuts();
    const std::vector<std::int64_t> balanced = bounds.balanced_cut();
    const std::vector<std::int64_t> equal =
        equal_parts(static_cast<std::int64_t>(layers), choice.stages);
    best.add(balanced, bounds.of(balanced));
    if (equal != balanced) best.add(equal, bounds.of(equal));
    return result;
  }
  std::vector<std::int64_t> counts(choice.stages, 1);
  counts.back() = static_cast<std::int64_t>(layers) - choice.stages + 1;
  do {
    best.add(counts, bounds.of(counts));
  } while (next_cut(counts));
  return result;
}

}  // namespace schedlab
