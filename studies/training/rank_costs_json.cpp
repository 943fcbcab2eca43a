// SPDX-License-Identifier: Apache-2.0
#include "studies/training/rank_costs_json.hpp"

#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using Json = nlohmann::json;

Json to_json(Duration time) {
  return time.count();
}

Json to_json(const PassCost& cost) {
  return Json::array({cost.fixed.count(), cost.per_sample.count()});
}

Json to_json(const std::vector<Duration>& times) {
  Json list = Json::array();
  for (const Duration time : times) list.push_back(to_json(time));
  return list;
}

Duration duration_from(const Json& json) {
  return Duration{json.get<std::int64_t>()};
}

PassCost cost_from(const Json& json) {
  return {.fixed = duration_from(json.at(0)), .per_sample = duration_from(json.at(1))};
}

std::vector<Duration> durations_from(const Json& json) {
  std::vector<Duration> times;
  for (const Json& time : json) times.push_back(duration_from(time));
  return times;
}

Json to_json(const StageCosts& costs) {
  const StageProfile& whole = costs.whole;
  return {{"passes",
           {to_json(whole.forward), to_json(whole.backward_data), to_json(whole.backward_weight)}},
          {"update", to_json(whole.update)},
          {"layers",
           {to_json(costs.forward), to_json(costs.backward_data), to_json(costs.backward_weight)}}};
}

StageCosts stage_from(const Json& json) {
  StageCosts costs;
  costs.whole.forward = cost_from(json.at("passes").at(0));
  costs.whole.backward_data = cost_from(json.at("passes").at(1));
  costs.whole.backward_weight = cost_from(json.at("passes").at(2));
  costs.whole.update = duration_from(json.at("update"));
  costs.forward = durations_from(json.at("layers").at(0));
  costs.backward_data = durations_from(json.at("layers").at(1));
  costs.backward_weight = durations_from(json.at("layers").at(2));
  return costs;
}

}  // namespace

std::string rank_costs_to_json(const RankCosts& costs) {
  Json json{{"stages", Json::array()},
            {"links", Json::array()},
            {"sums", Json::array()},
            {"latency", to_json(costs.latency)},
            {"send", to_json(costs.send)},
            {"receive", to_json(costs.receive)},
            {"call", to_json(costs.call)}};
  for (const StageCosts& stage : costs.pipeline.stages) json["stages"].push_back(to_json(stage));
  for (const PackCosts& link : costs.pipeline.links) {
    json["links"].push_back({to_json(link.pack), to_json(link.unpack)});
  }
  for (const auto& [bytes, time] : costs.sums) {
    json["sums"].push_back({bytes.count(), to_json(time)});
  }
  return json.dump();
}

RankCosts rank_costs_from_json(const std::string& text) {
  const Json json = Json::parse(text);
  RankCosts costs;
  for (const Json& stage : json.at("stages")) costs.pipeline.stages.push_back(stage_from(stage));
  for (const Json& link : json.at("links")) {
    costs.pipeline.links.push_back(
        {.pack = cost_from(link.at(0)), .unpack = cost_from(link.at(1))});
  }
  for (const Json& sum : json.at("sums")) {
    costs.sums.emplace_back(Bytes{sum.at(0).get<std::int64_t>()}, duration_from(sum.at(1)));
  }
  costs.latency = duration_from(json.at("latency"));
  costs.send = duration_from(json.at("send"));
  costs.receive = duration_from(json.at("receive"));
  costs.call = duration_from(json.at("call"));
  return costs;
}

}  // namespace schedlab
