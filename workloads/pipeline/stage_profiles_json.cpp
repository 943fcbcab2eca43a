// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/stage_profiles_json.hpp"

#include "sim/base/error.hpp"
#include "workloads/formats/json_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using detail::JsonPlace;
using detail::JsonValues;
using StageValue = JsonValues::Value;
namespace ondemand = simdjson::ondemand;

constexpr std::int64_t max_bytes = std::int64_t{1} << 50;
constexpr std::int64_t max_stages = 32767;  // Tags::stage

/// A number of a stage, by its key.
struct PassKey {
  std::string_view key;
  PassCost StageProfile::*pass;
  Duration PassCost::*part;
};
constexpr std::array<PassKey, 6> pass_keys{
    {{"forward_us", &StageProfile::forward, &PassCost::fixed},
     {"forward_per_sample_us", &StageProfile::forward, &PassCost::per_sample},
     {"backward_data_us", &StageProfile::backward_data, &PassCost::fixed},
     {"backward_data_per_sample_us", &StageProfile::backward_data, &PassCost::per_sample},
     {"backward_weight_us", &StageProfile::backward_weight, &PassCost::fixed},
     {"backward_weight_per_sample_us", &StageProfile::backward_weight, &PassCost::per_sample}}};
struct BytesKey {
  std::string_view key;
  Bytes StageProfile::*bytes;
};
constexpr std::array<BytesKey, 4> bytes_keys{
    {{"parameters_bytes", &StageProfile::parameters},
     {"optimizer_state_bytes", &StageProfile::optimizer_state},
     {"kept_activations_bytes", &StageProfile::kept_activations},
     {"kept_gradients_bytes", &StageProfile::kept_gradients}}};

std::vector<std::string> stage_keys() {
  std::vector<std::string> keys{"name", "update_us"};
  for (const PassKey& each : pass_keys) keys.emplace_back(each.key);
  for (const BytesKey& each : bytes_keys) keys.emplace_back(each.key);
  return keys;
}

class ProfileReader {
 public:
  explicit ProfileReader(const std::string& file) : place_(file), values_(place_) {}

  [[nodiscard]] PipelineProfile read(std::string_view text) {
    const std::string padded = detail::padded_json(text);
    try {
      read_root(padded);
    } catch (const simdjson::simdjson_error& error) {
      place_.refuse(simdjson::error_message(error.error()), "valid JSON in UTF-8");
    }
    place_.leave();
    if (!is_profile_) place_.refuse("no \"schedlab\" key", R"("schedlab": "stage_profiles")");
    check_links();
    check_tied();
    return std::move(profile_);
  }

 private:
  void read_root(const std::string& padded) {
    ondemand::parser parser;
    ondemand::document document = parser.iterate(padded);
    ondemand::object root;
    if (document.get_object().get(root) != simdjson::SUCCESS) {
      place_.refuse("something else", "an object");
    }
    for (auto member : root) {
      const std::string_view key = JsonValues::key_of(member);
      place_.enter(key);
      StageValue value = member.value();
      if (key == "schedlab") {
        static_cast<void>(values_.word(value, {"stage_profiles"}));
        is_profile_ = true;
      } else if (key == "version") {
        static_cast<void>(values_.integer(value, 1, 1));
      } else if (key == "labels_bytes") {
        profile_.labels = Bytes{values_.integer(value, 0, max_bytes)};
      } else if (key == "stages") {
        read_list(value, [this](ondemand::object& object) { read_stage(object); });
      } else if (key == "links") {
        read_list(value, [this](ondemand::object& object) { read_link(object); });
      } else if (key == "tied") {
        read_list(value, [this](ondemand::object& object) { read_tied(object); });
      } else {
        place_.leave();
        place_.refuse_key(key, {"schedlab", "version", "labels_bytes", "stages", "links", "tied"});
      }
    }
  }

  template <class ReadElement>
  void read_list(StageValue value, const ReadElement& read_element) {
    std::size_t index = 0;
    for (StageValue element : values_.array(value)) {
      place_.element(index++);
      ondemand::object object = values_.object(element);
      read_element(object);
    }
  }

  void read_stage(ondemand::object& object) {
    StageProfile stage;
    for (auto member : object) {
      const std::string_view key = JsonValues::key_of(member);
      place_.field(key);
      StageValue value = member.value();
      const auto pass = std::find_if(
          pass_keys.begin(), pass_keys.end(), [key](const PassKey& k) { return k.key == key; });
      const auto bytes = std::find_if(
          bytes_keys.begin(), bytes_keys.end(), [key](const BytesKey& k) { return k.key == key; });
      if (pass != pass_keys.end()) {
        stage.*(pass->pass).*(pass->part) = values_.duration(value);
      } else if (bytes != bytes_keys.end()) {
        stage.*(bytes->bytes) = Bytes{values_.integer(value, 0, max_bytes)};
      } else if (key == "name") {
        stage.name = values_.string(value);
      } else if (key == "update_us") {
        stage.update = values_.duration(value);
      } else {
        place_.element(profile_.stages.size());
        place_.refuse_key(key, stage_keys());
      }
    }
    profile_.stages.push_back(std::move(stage));
  }

  void read_link(ondemand::object& object) {
    StageLink link;
    for (auto member : object) {
      const std::string_view key = JsonValues::key_of(member);
      place_.field(key);
      StageValue value = member.value();
      if (key == "from" || key == "to") {
        (key == "from" ? link.from : link.to) =
            static_cast<std::uint32_t>(values_.integer(value, 0, max_stages));
      } else if (key == "bytes") {
        link.bytes = Bytes{values_.integer(value, 0, max_bytes)};
      } else {
        place_.element(profile_.links.size());
        place_.refuse_key(key, {"from", "to", "bytes"});
      }
    }
    profile_.links.push_back(link);
  }

  void read_tied(ondemand::object& object) {
    TiedParameters tied;
    for (auto member : object) {
      const std::string_view key = JsonValues::key_of(member);
      place_.field(key);
      StageValue value = member.value();
      if (key == "name") {
        tied.name = values_.string(value);
      } else if (key == "bytes") {
        tied.bytes = Bytes{values_.integer(value, 0, max_bytes)};
      } else if (key == "stages") {
        for (StageValue stage : values_.array(value)) {
          tied.stages.push_back(static_cast<std::uint32_t>(values_.integer(stage, 0, max_stages)));
        }
      } else {
        place_.element(profile_.tied.size());
        place_.refuse_key(key, {"name", "bytes", "stages"});
      }
    }
    profile_.tied.push_back(std::move(tied));
  }

  void check_links() {
    place_.enter("stages");
    const std::size_t stages = profile_.stages.size();
    if (stages == 0 || stages > max_stages) {
      place_.refuse(fmt::format("{} stages", stages), fmt::format("1 to {}", max_stages));
    }
    place_.enter("links");
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::size_t i = 0; i < profile_.links.size(); ++i) {
      const StageLink& link = profile_.links[i];
      place_.element(i);
      if (link.from >= link.to || link.to >= stages) {
        place_.refuse(fmt::format("from {} to {}", link.from, link.to),
                      fmt::format("a later one of {} stages, numbered from 0", stages));
      }
      if (!seen.emplace(link.from, link.to).second) {
        place_.refuse(fmt::format("from {} to {} once more", link.from, link.to),
                      "one link of each pair of stages",
                      "add up their bytes");
      }
    }
  }

  void check_tied() {
    place_.enter("tied");
    for (std::size_t i = 0; i < profile_.tied.size(); ++i) {
      const TiedParameters& tied = profile_.tied[i];
      place_.element(i);
      const bool rising =
          std::adjacent_find(tied.stages.begin(), tied.stages.end(), [](auto a, auto b) {
            return a >= b;
          }) == tied.stages.end();
      if (tied.stages.size() < 2 || !rising || tied.stages.back() >= profile_.stages.size()) {
        place_.refuse(fmt::format("the stages [{}]", fmt::join(tied.stages, ", ")),
                      fmt::format("two or more of {} stages, rising", profile_.stages.size()));
      }
      for (const std::uint32_t stage : tied.stages) {
        if (tied.bytes > profile_.stages[stage].parameters) {
          place_.refuse(fmt::format("{} bytes", tied.bytes.count()),
                        fmt::format("at most the {} bytes of parameters of stage {}",
                                    profile_.stages[stage].parameters.count(),
                                    stage));
        }
      }
    }
  }

  JsonPlace place_;
  JsonValues values_;
  PipelineProfile profile_;
  bool is_profile_ = false;
};

}  // namespace

PipelineProfile read_stage_profiles(std::string_view text, const std::string& file) {
  return ProfileReader{file}.read(text);
}

}  // namespace schedlab
