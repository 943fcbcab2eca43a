// SPDX-License-Identifier: Apache-2.0
#include "studies/search/islands.hpp"

#include "sim/plan/plan_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t step_tasks = 400'000;  // simulated between two exchanges; assumed
constexpr double halvings = 6;                 // of the choices, over the whole limit; assumed

const TaskGraph& planned_graph(const SearchChoice& choice) {
  return *choice.scenario.problem->part_to_plan().graph;
}

}  // namespace

const ScoredPlan& Islands::Lane::best() const {
  return (*std::min_element(
              islands.begin(),
              islands.end(),
              [](const auto& a, const auto& b) { return a->best().makespan < b->best().makespan; }))
      ->best();
}

std::uint64_t Islands::Lane::evaluations() const {
  std::uint64_t sum = 0;
  for (const auto& island : islands) sum += island->evaluations();
  return sum;
}

bool Islands::Lane::reached() const {
  return std::all_of(
      islands.begin(), islands.end(), [](const auto& island) { return island->reached(); });
}

Islands::Islands(const std::vector<SearchChoice>& choices, const SearchSettings& settings)
    : choices_(choices), settings_(settings) {
  Duration bound = Duration::max();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const SearchChoice& choice = choices[i];
    bound = std::min(bound, choice.target);
    Lane& lane = lanes_.emplace_back();
    lane.choice = i;
    const std::uint64_t first =
        settings.seed + std::uint64_t{settings.islands} * static_cast<std::uint64_t>(rank());
    for (std::uint32_t island = 0; island < settings.islands; ++island) {
      lane.islands.push_back(make_plan_search(choice.scenario.problem->part_to_plan().problem(),
                                              choice.plans,
                                              scored_as(choice.scenario, settings.scatter),
                                              {.seed = first + island,
                                               .max_streams = settings.max_streams,
                                               .target = choice.target,
                                               .checks_memory = choice.scenario.checks_memory}));
    }
    take(i, choice.plans.front());
  }
  improvements_ = {{0, best_.makespan}};
  wanted_ = std::max(bound, from_us(to_us(bound) * (1 + settings.limits.gap)));
}

std::uint64_t Islands::step() const {
  std::uint64_t tasks = 1;
  for (const Lane& lane : lanes_) {
    tasks = std::max<std::uint64_t>(tasks, planned_graph(choices_[lane.choice]).task_count());
  }
  const std::uint64_t runs = (1 + settings_.scatter.samples) * lanes_.size();
  std::uint64_t step = std::max<std::uint64_t>(16, step_tasks / (tasks * runs));
  const std::uint64_t limit = settings_.limits.evaluations;
  if (limit == 0) return step;
  const auto ranks =
      static_cast<std::uint64_t>(settings_.link == nullptr ? 1 : settings_.link->size());
  const std::uint64_t islands = settings_.islands * lanes_.size() * ranks;
  if (lanes_.size() > 1) {  // several steps between two halvings of the choices
    const auto steps = static_cast<std::uint64_t>(2 * halvings);
    step = std::min(step, std::max<std::uint64_t>(1, limit / (islands * steps)));
  }
  return std::min(step, (limit - evaluations_ + islands - 1) / islands);
}

void Islands::advance(std::uint64_t evaluations) {
  const auto work = [&](std::size_t island) {
    for (Lane& lane : lanes_) lane.islands[island]->advance(evaluations);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < settings_.islands; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

void Islands::take(std::size_t choice, const ScoredPlan& plan) {
  if (plan.makespan >= best_.makespan) return;
  best_ = plan;
  best_choice_ = choice;
  improvements_.push_back({evaluations_, plan.makespan});
}

Islands::Told Islands::told() const {
  const Lane& lane =
      *std::min_element(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) {
        return a.best().makespan < b.best().makespan;
      });
  Told told{.best = &lane.best(), .choice = lane.choice, .evaluations = dropped_evaluations_};
  told.stop = stop_requested(settings_.stop);
  told.reached =
      std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& each) { return each.reached(); });
  for (const Lane& each : lanes_) told.evaluations += each.evaluations();
  return told;
}

Islands::Agreed Islands::judge(double seconds, bool over) const {
  const SearchLimits& limits = settings_.limits;
  const auto evaluated = static_cast<double>(evaluations_);
  Agreed agreed;
  if (limits.seconds > 0) agreed.used = seconds / limits.seconds;
  if (limits.evaluations > 0) {
    agreed.used = std::max(agreed.used, evaluated / static_cast<double>(limits.evaluations));
  }
  agreed.end = over || agreed.used >= 1 || best_.makespan <= wanted_;
  return agreed;
}

Islands::Agreed Islands::exchange(const WallClock& clock) {
  const Told own = told();
  if (settings_.link != nullptr) return exchange_with_ranks(own, clock);
  evaluations_ = own.evaluations;
  take(own.choice, *own.best);
  return judge(clock.seconds(), own.stop || own.reached);
}

/// All tell rank 0 how good their best plan is; the best goes to all.
Islands::Agreed Islands::exchange_with_ranks(const Told& own, const WallClock& clock) {
  using nlohmann::json;
  RankLink& link = *settings_.link;
  const json mine{{"makespan_ps", own.best->makespan.count()},
                  {"choice", own.choice},
                  {"evaluations", own.evaluations},
                  {"stop", own.stop},
                  {"reached", own.reached}};
  const std::vector<std::string> all = gather_texts(link, mine.dump());
  json verdict;
  if (link.rank() == 0) {
    verdict = mine;
    verdict["from"] = 0;
    verdict["seconds"] = clock.seconds();
    for (std::size_t from = 1; from < all.size(); ++from) {
      const json other = json::parse(all[from]);
      verdict["evaluations"] =
          verdict["evaluations"].get<std::uint64_t>() + other["evaluations"].get<std::uint64_t>();
      verdict["stop"] = verdict["stop"].get<bool>() || other["stop"].get<bool>();
      verdict["reached"] = verdict["reached"].get<bool>() && other["reached"].get<bool>();
      if (other["makespan_ps"] >= verdict["makespan_ps"]) continue;
      verdict["makespan_ps"] = other["makespan_ps"];
      verdict["choice"] = other["choice"];
      verdict["from"] = from;
    }
  }
  verdict = json::parse(broadcast_text(link, verdict.dump()));
  evaluations_ = verdict["evaluations"].get<std::uint64_t>();
  const Duration makespan{verdict["makespan_ps"].get<std::int64_t>()};
  if (makespan < best_.makespan) {
    const auto choice = verdict["choice"].get<std::size_t>();
    const auto from = verdict["from"].get<std::size_t>();
    const TaskGraph& graph = planned_graph(choices_[choice]);
    const bool sends = static_cast<std::size_t>(link.rank()) == from;
    const auto plans = gather_texts(link, sends ? plan_to_json(own.best->plan, graph) : "");
    const std::string plan = broadcast_text(link, plans.empty() ? "" : plans[from]);
    take(choice, {plan_from_json(plan, graph, "a rank's plan"), makespan});
  }
  return judge(verdict["seconds"].get<double>(),
               verdict["stop"].get<bool>() || verdict["reached"].get<bool>());
}

void Islands::drop_lanes(double used) {
  std::stable_sort(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) {
    return a.best().makespan < b.best().makespan;
  });
  const auto halved = static_cast<unsigned>(std::clamp(used, 0.0, 1.0) * halvings);
  const std::size_t most = std::max<std::size_t>(1, choices_.size() >> halved);
  while (lanes_.size() > 1) {
    const Lane& last = lanes_.back();
    const bool beaten = choices_[last.choice].target >= best_.makespan;
    if (lanes_.size() <= most && !beaten) break;
    dropped_evaluations_ += last.evaluations();
    lanes_.pop_back();
  }
}

void Islands::search(const WallClock& clock) {
  for (Agreed agreed = exchange(clock); !agreed.end; agreed = exchange(clock)) {
    drop_lanes(agreed.used);
    for (Lane& lane : lanes_) {
      const ScoredPlan best = lane.choice == best_choice_ ? best_ : lane.best();
      for (const auto& island : lane.islands) island->offer(best);
    }
    advance(step());
  }
}

}  // namespace schedlab
